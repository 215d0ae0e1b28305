package org.harnesslearning.proposer.run;

import java.time.Duration;
import java.util.function.Supplier;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.request.Preconditions;
import org.harnesslearning.store.run.RunRow;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;

/** What the three kinds of runs have in common over HTTP. */
public final class RunHttp {
    private RunHttp() {}

    /**
     * Wait of a {@code Prefer} header (RFC 7240); other preferences are ignored, as the RFC allows.
     *
     * @param otherwise wait without the header
     * @param most longest wait
     */
    public static Duration wait(@Nullable String prefer, Duration otherwise, Duration most) {
        return Preconditions.wait(prefer, otherwise, most);
    }

    /** Entity tag of a run as a caller sees it. */
    public static String tag(RunRow run, Caller caller) {
        return "\"" + run.version() + (caller.admin() ? "a" : "") + "\"";
    }

    /** 200 with the resource of an ended run, else 202 with its place. */
    public static ResponseEntity<Object> ordered(RunRow run, Caller caller, String path, Object resource) {
        boolean ended = run.state().terminal();
        return ResponseEntity.status(ended ? HttpStatus.OK : HttpStatus.ACCEPTED)
                .header(HttpHeaders.LOCATION, path)
                .header(HttpHeaders.ETAG, tag(run, caller))
                .body(resource);
    }

    /** The resource, or 304 when the caller has it. */
    public static ResponseEntity<Object> read(
            RunRow run, Caller caller, @Nullable String ifNoneMatch, Supplier<Object> resource) {
        String tag = tag(run, caller);
        if (Preconditions.unchanged(ifNoneMatch, tag)) {
            return ResponseEntity.status(HttpStatus.NOT_MODIFIED)
                    .header(HttpHeaders.ETAG, tag)
                    .build();
        }
        return ResponseEntity.ok().header(HttpHeaders.ETAG, tag).body(resource.get());
    }
}
