package org.harnesslearning.gateway.edge;

import jakarta.servlet.http.HttpServletRequest;
import org.springframework.http.HttpHeaders;
import org.springframework.stereotype.Component;

/** Tells whether a request that passed the edge and is still being answered would pass it now. */
@Component
public final class CallerCheck {
    private final KeyCheck keys;
    private final SessionCheck sessions;

    CallerCheck(KeyCheck keys, SessionCheck sessions) {
        this.keys = keys;
        this.sessions = sessions;
    }

    /** Whether the key, or the session that stands in for one, has neither been revoked nor ended. */
    public boolean holds(HttpServletRequest request) {
        String header = request.getHeader(HttpHeaders.AUTHORIZATION);
        return header == null || header.isBlank()
                ? sessions.holds(request)
                : keys.holds(Caller.of(request).keyId());
    }
}
