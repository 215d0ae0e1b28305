package org.harnesslearning.gateway.edge;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.util.Locale;
import java.util.Map;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.stereotype.Component;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Tells browsers to do nothing with an answer but show it, and to keep none. The policy is that of an answer without a
 * page; whoever serves a page sets one of these headers and replaces the value here. {@code Strict-Transport-Security} is
 * for what ends TLS in front of the gateway.
 */
@Component
@Order(Ordered.HIGHEST_PRECEDENCE + 5)
final class SecurityHeaders extends OncePerRequestFilter {
    private static final Map<String, String> HEADERS = Map.of(
            "content-security-policy", "default-src 'none'; frame-ancestors 'none'",
            "x-content-type-options", "nosniff",
            "x-frame-options", "DENY",
            "referrer-policy", "no-referrer",
            "cross-origin-resource-policy", "same-origin",
            "cross-origin-opener-policy", "same-origin",
            "permissions-policy", "camera=(), geolocation=(), microphone=()",
            "cache-control", "no-store");

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        HEADERS.forEach(response::setHeader);
        chain.doFilter(request, new Replaced(response));
    }

    /** Spring adds the headers of an answer to those that are there; a browser would obey both policies at once. */
    private static final class Replaced extends HttpServletResponseWrapper {
        private Replaced(HttpServletResponse response) {
            super(response);
        }

        @Override
        public void addHeader(String name, String value) {
            if (HEADERS.containsKey(name.toLowerCase(Locale.ROOT))) {
                setHeader(name, value);
            } else {
                super.addHeader(name, value);
            }
        }
    }
}
