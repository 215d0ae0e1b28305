package org.harnesslearning.gateway.edge;

import jakarta.servlet.http.HttpServletRequest;
import java.util.Optional;
import org.harnesslearning.gateway.route.Scope;

/**
 * Whose key a request carries, or whose session it belongs to.
 *
 * @param name the key's name
 */
public record Caller(String keyId, String name, Scope scope) {
    private static final String ATTRIBUTE = Caller.class.getName();

    /**
     * The caller of a request that passed the edge.
     *
     * @throws IllegalStateException for a request without a key, which never gets further than the edge
     */
    public static Caller of(HttpServletRequest request) {
        return find(request).orElseThrow(() -> new IllegalStateException("no caller on " + request.getRequestURI()));
    }

    /** The caller; empty where an endpoint is open to all. */
    public static Optional<Caller> find(HttpServletRequest request) {
        return request.getAttribute(ATTRIBUTE) instanceof Caller caller ? Optional.of(caller) : Optional.empty();
    }

    void on(HttpServletRequest request) {
        request.setAttribute(ATTRIBUTE, this);
    }
}
