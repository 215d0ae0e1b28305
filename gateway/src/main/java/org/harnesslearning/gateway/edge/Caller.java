package org.harnesslearning.gateway.edge;

import jakarta.servlet.http.HttpServletRequest;
import java.util.Optional;
import org.harnesslearning.gateway.route.Scope;
import org.harnesslearning.store.key.ApiKey;
import org.harnesslearning.store.key.KeyLimits;

/**
 * Whose key a request carries, or whose session it belongs to.
 *
 * @param name the key's name
 * @param limits the key's own limits
 */
public record Caller(String keyId, String name, Scope scope, KeyLimits limits) {
    private static final String ATTRIBUTE = Caller.class.getName();

    /** The holder of a key; empty for a scope that is not known here. */
    public static Optional<Caller> holding(ApiKey key) {
        return Scope.of(key.scope()).map(scope -> new Caller(key.id(), key.name(), scope, key.limits()));
    }

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
