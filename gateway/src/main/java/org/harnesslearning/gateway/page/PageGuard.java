package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.gateway.edge.Caller;
import org.harnesslearning.gateway.route.Endpoint;
import org.harnesslearning.gateway.route.PublicApi;
import org.harnesslearning.gateway.session.Sessions;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.stereotype.Component;
import org.springframework.web.servlet.HandlerInterceptor;

/**
 * Stands before every page: sets the security headers, checks that the caller's scope covers the page, and that whatever
 * changes something carries the form token of its own session. Refusals are pages as well.
 */
@Component
final class PageGuard implements HandlerInterceptor {
    /** Nothing but the gateway's own files; neither scripts nor styles inside a page. */
    private static final String CONTENT_SECURITY_POLICY =
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                    + "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

    private final PublicApi api;
    private final Sessions sessions;

    PageGuard(PublicApi api, Sessions sessions) {
        this.api = api;
        this.sessions = sessions;
    }

    @Override
    public boolean preHandle(HttpServletRequest request, HttpServletResponse response, Object handler) {
        response.setHeader("Content-Security-Policy", CONTENT_SECURITY_POLICY);
        response.setHeader("X-Content-Type-Options", "nosniff");
        response.setHeader("X-Frame-Options", "DENY");
        response.setHeader("Referrer-Policy", "same-origin");
        response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
        response.setHeader("Cross-Origin-Resource-Policy", "same-origin");
        response.setHeader(HttpHeaders.CACHE_CONTROL, "no-store");
        HttpMethod method = HttpMethod.valueOf(request.getMethod());
        Endpoint endpoint = api.at(request.getRequestURI()).stream()
                .filter(Endpoint::isPage)
                .filter(candidate -> candidate.takes(method))
                .findFirst()
                .orElseThrow(() -> new PlatformException(ErrorCode.NOT_FOUND, "There is no such page"));
        boolean changes = !method.equals(HttpMethod.GET) && !method.equals(HttpMethod.HEAD);
        if (endpoint.access() == Endpoint.Access.OPEN_PAGE) {
            if (changes && !sessions.signInTokenFits(request)) {
                throw new StaleFormException();
            }
            return true;
        }
        Caller caller = Caller.of(request);
        if (!caller.scope().includes(endpoint.scope())) {
            throw new PlatformException(
                    ErrorCode.INSUFFICIENT_SCOPE,
                    "This needs a key of scope " + endpoint.scope().text() + "; you are signed in with scope "
                            + caller.scope().text());
        }
        if (changes && !sessions.tokenFits(request)) {
            throw new StaleFormException();
        }
        return true;
    }
}
