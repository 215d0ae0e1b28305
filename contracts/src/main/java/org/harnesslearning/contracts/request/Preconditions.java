package org.harnesslearning.contracts.request;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Headers that say how long a caller waits and what it has already. */
public final class Preconditions {
    private static final Pattern WAIT = Pattern.compile("(?:^|[,;\\s])wait\\s*=\\s*\"?(\\d{1,6})\"?(?:$|[,;\\s])");

    private Preconditions() {}

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

    /** Whether {@code If-None-Match} names the entity tag that the resource has now. */
    public static boolean unchanged(@Nullable String ifNoneMatch, String tag) {
        if (ifNoneMatch == null) {
            return false;
        }
        for (String given : ifNoneMatch.split(",")) {
            String plain = given.strip();
            if (plain.equals("*") || (plain.startsWith("W/") ? plain.substring(2) : plain).equals(tag)) {
                return true;
            }
        }
        return false;
    }
}
