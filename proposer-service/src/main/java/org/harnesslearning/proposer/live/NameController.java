package org.harnesslearning.proposer.live;

import java.net.URI;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.request.JsonBody;
import org.harnesslearning.contracts.request.Preconditions;
import org.harnesslearning.proposer.ProposerProperties;
import org.harnesslearning.store.harness.HarnessName;
import org.harnesslearning.store.harness.HarnessNames;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.harness.HarnessVersion;
import org.jspecify.annotations.Nullable;
import org.springframework.http.CacheControl;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** {@code /harnesses/names}: harnesses under names, and what is live for a team's agent. */
@RestController
class NameController {
    private static final MediaType PYTHON = MediaType.parseMediaType("text/x-python;charset=UTF-8");
    private static final String NAME = "[a-z0-9][a-z0-9._-]{0,63}";
    private static final int MAX_VERSIONS = 100;

    private final NamedHarnesses named;
    private final HarnessNames names;
    private final HarnessStore harnesses;
    private final ProposerProperties properties;

    NameController(NamedHarnesses named, HarnessNames names, HarnessStore harnesses, ProposerProperties properties) {
        this.named = named;
        this.names = names;
        this.harnesses = harnesses;
        this.properties = properties;
    }

    @GetMapping("/harnesses/names")
    Map<String, Object> list(
            @RequestParam(name = "limit", defaultValue = "100") int limit,
            @RequestParam(name = "cursor", required = false) @Nullable String cursor) {
        checkLimit(limit);
        if (cursor != null && !cursor.matches(NAME)) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "cursor is not one that a list gave");
        }
        List<HarnessName> found = names.all(cursor == null ? "" : cursor, limit + 1);
        List<HarnessName> page = found.size() > limit ? found.subList(0, limit) : found;
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("data", page.stream().map(this::summary).toList());
        answer.put("next_cursor", found.size() > limit ? page.getLast().name() : null);
        return answer;
    }

    @GetMapping("/harnesses/names/{name}")
    ResponseEntity<Object> get(
            @PathVariable("name") String name,
            @RequestHeader(name = HttpHeaders.IF_NONE_MATCH, required = false) @Nullable String ifNoneMatch) {
        HarnessName found = find(name);
        String tag = "\"" + found.changes() + "\"";
        if (Preconditions.unchanged(ifNoneMatch, tag)) {
            return ResponseEntity.status(HttpStatus.NOT_MODIFIED)
                    .header(HttpHeaders.ETAG, tag)
                    .build();
        }
        return ResponseEntity.ok().header(HttpHeaders.ETAG, tag).body(resource(found));
    }

    @PostMapping(path = "/harnesses/names/{name}/versions", consumes = MediaType.APPLICATION_JSON_VALUE)
    ResponseEntity<Object> add(@PathVariable("name") String name, @RequestBody byte[] body, Caller caller) {
        NamedHarnesses.Added added = named.add(checked(name), JsonBody.object(body), caller);
        return added.created()
                ? ResponseEntity.created(URI.create("/harnesses/names/" + name)).body(version(added.version()))
                : ResponseEntity.ok(version(added.version()));
    }

    @PostMapping(path = "/harnesses/names/{name}/promote", consumes = MediaType.APPLICATION_JSON_VALUE)
    Map<String, Object> promote(@PathVariable("name") String name, @RequestBody byte[] body, Caller caller) {
        return resource(named.promote(checked(name), JsonBody.object(body), caller));
    }

    @PostMapping(path = "/harnesses/names/{name}/rollback", consumes = MediaType.APPLICATION_JSON_VALUE)
    Map<String, Object> rollBack(@PathVariable("name") String name, @RequestBody byte[] body, Caller caller) {
        return resource(named.rollBack(checked(name), JsonBody.object(body), caller));
    }

    @GetMapping("/harnesses/names/{name}/history")
    Map<String, Object> history(
            @PathVariable("name") String name, @RequestParam(name = "limit", defaultValue = "100") int limit) {
        checkLimit(limit);
        return Map.of("data", names.history(find(name).name(), limit));
    }

    @GetMapping(path = "/harnesses/names/{name}/live", produces = MediaType.APPLICATION_JSON_VALUE)
    ResponseEntity<Object> live(
            @PathVariable("name") String name,
            @RequestHeader(name = HttpHeaders.IF_NONE_MATCH, required = false) @Nullable String ifNoneMatch) {
        String hash = liveHash(name);
        return live(hash, MediaType.APPLICATION_JSON, ifNoneMatch, () -> {
            HarnessName found = find(name);
            Map<String, Object> body = new LinkedHashMap<>();
            body.put("name", name);
            body.put("version", found.live());
            body.put("hash", hash);
            body.put("kind", HarnessStore.PROGRAM);
            body.put("source", harnesses.source(hash));
            return body;
        });
    }

    @GetMapping(
            path = "/harnesses/names/{name}/live",
            produces = {"text/x-python", "text/plain"})
    ResponseEntity<Object> liveText(
            @PathVariable("name") String name,
            @RequestHeader(name = HttpHeaders.IF_NONE_MATCH, required = false) @Nullable String ifNoneMatch) {
        String hash = liveHash(name);
        return live(hash, PYTHON, ifNoneMatch, () -> harnesses.source(hash));
    }

    @DeleteMapping("/harnesses/names/{name}")
    ResponseEntity<Void> delete(@PathVariable("name") String name) {
        named.delete(name);
        return ResponseEntity.noContent().build();
    }

    private ResponseEntity<Object> live(
            String hash, MediaType type, @Nullable String ifNoneMatch, java.util.function.Supplier<Object> body) {
        String tag = "\"" + hash + "\"";
        boolean known = Preconditions.unchanged(ifNoneMatch, tag);
        ResponseEntity.BodyBuilder answer = ResponseEntity.status(known ? HttpStatus.NOT_MODIFIED : HttpStatus.OK)
                .eTag(tag)
                .varyBy(HttpHeaders.ACCEPT)
                .cacheControl(CacheControl.maxAge(properties.liveMaxAge()).cachePrivate());
        return known ? answer.build() : answer.contentType(type).body(body.get());
    }

    private String liveHash(String name) {
        return names.live(name)
                .orElseThrow(
                        () -> new PlatformException(ErrorCode.NOT_FOUND, "Nothing is live under the name " + name));
    }

    private HarnessName find(String name) {
        return names.find(name).orElseThrow(() -> NamedHarnesses.unknown(name));
    }

    private static String checked(String name) {
        if (!name.matches(NAME)) {
            throw new PlatformException(
                    ErrorCode.INVALID_FIELD,
                    "A name has 1 to 64 lower case letters, digits, dots, dashes and underscores, and starts with a"
                            + " letter or digit");
        }
        return name;
    }

    private static void checkLimit(int limit) {
        if (limit < 1 || limit > 100) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "limit must be from 1 to 100");
        }
    }

    private Map<String, Object> summary(HarnessName name) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("name", name.name());
        view.put(
                "live",
                name.live() == null
                        ? null
                        : names.version(name.name(), name.live())
                                .map(NameController::version)
                                .orElse(null));
        view.put("created_by", name.createdBy());
        view.put("created_at", name.createdAt());
        return view;
    }

    private Map<String, Object> resource(HarnessName name) {
        Map<String, Object> view = summary(name);
        view.put(
                "versions",
                names.versions(name.name(), MAX_VERSIONS).stream()
                        .map(NameController::version)
                        .toList());
        String self = "/harnesses/names/" + name.name();
        view.put("links", Map.of("self", self, "live", self + "/live", "history", self + "/history"));
        return view;
    }

    private static Map<String, Object> version(HarnessVersion version) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("version", version.version());
        view.put("harness", version.harness());
        view.put("adaptation", version.adaptation());
        view.put("note", version.note());
        view.put("created_by", version.createdBy());
        view.put("created_at", version.createdAt());
        return view;
    }
}
