package org.harnesslearning.proposer.run;

import java.time.Duration;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.store.run.RunRow;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;

/** What the three kinds of runs have in common over HTTP. */
public final class RunHttp {
    private static final Pattern WAIT = Pattern.compile("(?:^|[,;\\s])wait\\s*=\\s*\"?(\\d{1,6})\"?(?:$|[,;\\s])");

    private RunHttp() {}

    /**
     * Wait of a {@code Prefer} header (RFC 7240); other preferences are ignored, as the RFC allows.
     *
     * @param otherwise wait without the header
     * @param most longest wait
     */
    public static Duration wait(@Nullable String prefer, Duration otherwise, Duration most) {
        if (prefer == null) {
            return otherwise;
        }
        Matcher matcher = WAIT.matcher(prefer);
        if (!matcher.find()) {
            return otherwise;
        }
        Duration asked = Duration.ofSeconds(Long.parseLong(matcher.group(1)));
        return asked.compareTo(most) > 0 ? most : asked;
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
        if (ifNoneMatch != null && (ifNoneMatch.strip().equals("*") || has(ifNoneMatch, tag))) {
            return ResponseEntity.status(HttpStatus.NOT_MODIFIED)
                    .header(HttpHeaders.ETAG, tag)
                    .build();
        }
        return ResponseEntity.ok().header(HttpHeaders.ETAG, tag).body(resource.get());
    }

    private static boolean has(String ifNoneMatch, String tag) {
        for (String given : ifNoneMatch.split(",")) {
            String plain = given.strip();
            if ((plain.startsWith("W/") ? plain.substring(2) : plain).equals(tag)) {
                return true;
            }
        }
        return false;
    }
}
