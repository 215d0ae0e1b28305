package org.harnesslearning.gateway.edge;

import jakarta.servlet.http.HttpServletRequest;
import org.harnesslearning.gateway.route.Scope;

/** Whose key a request carries. */
public record Caller(String keyId, Scope scope) {
    private static final String ATTRIBUTE = Caller.class.getName();

    /**
     * The caller of a request that passed the edge.
     *
     * @throws IllegalStateException for a request without a key, which never gets further than the edge
     */
    public static Caller of(HttpServletRequest request) {
        if (request.getAttribute(ATTRIBUTE) instanceof Caller caller) {
            return caller;
        }
        throw new IllegalStateException("no caller on " + request.getRequestURI());
    }

    void on(HttpServletRequest request) {
        request.setAttribute(ATTRIBUTE, this);
    }
}
