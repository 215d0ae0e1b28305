package org.harnesslearning.gateway.edge;

import jakarta.servlet.http.HttpServletRequest;
import java.util.Optional;

/** Knows the sessions of people who signed in to the ops pages. */
public interface SessionCheck {
    /** Whose session the request's cookie names; empty without one, and for one that has ended. */
    Optional<Caller> check(HttpServletRequest request);

    /** Whether the session has not ended yet; asking is no use of it. */
    boolean holds(HttpServletRequest request);
}
