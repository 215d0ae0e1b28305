package org.harnesslearning.proposer.harness;

import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.proposer.edit.UnifiedDiff;
import org.harnesslearning.store.harness.HarnessStore;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/** {@code GET /harnesses/{hash}} as text or JSON, and the unified diff of two. */
@RestController
class HarnessController {
    private static final MediaType DIFF = MediaType.parseMediaType("text/x-diff;charset=UTF-8");
    private static final MediaType PYTHON = MediaType.parseMediaType("text/x-python;charset=UTF-8");

    private final HarnessStore harnesses;

    HarnessController(HarnessStore harnesses) {
        this.harnesses = harnesses;
    }

    @GetMapping(path = "/harnesses/{hash}", produces = MediaType.APPLICATION_JSON_VALUE)
    ResponseEntity<Map<String, String>> json(@PathVariable("hash") String hash) {
        String source = source(hash);
        return ResponseEntity.ok()
                .header(HttpHeaders.ETAG, "\"" + hash + "\"")
                .body(Map.of("hash", hash, "kind", HarnessStore.PROGRAM, "source", source));
    }

    @GetMapping(
            path = "/harnesses/{hash}",
            produces = {"text/x-python", "text/plain"})
    ResponseEntity<String> text(@PathVariable("hash") String hash) {
        return ResponseEntity.ok()
                .header(HttpHeaders.ETAG, "\"" + hash + "\"")
                .contentType(PYTHON)
                .body(source(hash));
    }

    @GetMapping(path = "/harnesses/{before}/diff/{after}")
    ResponseEntity<String> diff(@PathVariable("before") String before, @PathVariable("after") String after) {
        return ResponseEntity.ok().contentType(DIFF).body(UnifiedDiff.of(source(before), source(after), before, after));
    }

    private String source(String hash) {
        return harnesses
                .find(hash)
                .orElseThrow(() -> new PlatformException(ErrorCode.NOT_FOUND, "There is no harness " + hash));
    }
}
