package org.harnesslearning.gateway.route;

import org.springframework.http.HttpMethod;
import org.springframework.http.server.PathContainer;
import org.springframework.util.unit.DataSize;
import org.springframework.web.util.pattern.PathPattern;

/**
 * One call of the public API.
 *
 * @param scope least scope of the key, unused where {@code access} is {@code OPEN}
 * @param maxBody most bytes of the request's body
 */
public record Endpoint(HttpMethod method, PathPattern path, Access access, Scope scope, DataSize maxBody) {
    /** Who answers, and whether a key is needed. */
    public enum Access {
        /** Answered by the gateway, no key needed. */
        OPEN,
        /** Answered by the gateway. */
        GATEWAY,
        /** Passed on to proposer-service. */
        PROPOSER,
        /** Passed on to trainer-service. */
        TRAINER,
        /** A page for people, answered by the gateway; needs a session, whose absence leads to the sign-in. */
        PAGE,
        /** A page or its files, for which nobody has to sign in. */
        OPEN_PAGE
    }

    /** Whether this is for people's browsers and no part of the API. */
    public boolean isPage() {
        return access == Access.PAGE || access == Access.OPEN_PAGE;
    }

    /** Whether a request goes here; HEAD goes where GET goes. */
    public boolean takes(HttpMethod requested) {
        return method.equals(requested) || (method.equals(HttpMethod.GET) && requested.equals(HttpMethod.HEAD));
    }

    /** Whether the path is this endpoint's, whatever the method. */
    public boolean at(PathContainer requested) {
        return path.matches(requested);
    }
}
