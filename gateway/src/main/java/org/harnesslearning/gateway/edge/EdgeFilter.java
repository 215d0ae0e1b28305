package org.harnesslearning.gateway.edge;

import io.micrometer.core.instrument.MeterRegistry;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.gateway.route.Endpoint;
import org.harnesslearning.gateway.route.PublicApi;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.stereotype.Component;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Lets a request pass when its key is valid, the endpoint exists and takes the method, the key's scope covers it, the
 * key has not called too often and the body is not too large; in this order, so that a caller without a key learns
 * nothing about what exists.
 *
 * <p>A session's cookie stands in for a key on the ops pages, which check scope and form tokens themselves and answer
 * with pages, and on what the API only reads: a browser's {@code EventSource} can't set headers. What changes something
 * needs a key or a form with its token.
 */
@Component
@Order(Ordered.HIGHEST_PRECEDENCE + 10)
final class EdgeFilter extends OncePerRequestFilter {
    private static final String BEARER = "bearer ";
    static final Set<String> READING = Set.of("GET", "HEAD");

    /** Codes whose counters exist from the start, so that the first refusal is an increase. */
    private static final List<ErrorCode> COUNTED =
            List.of(ErrorCode.INVALID_KEY, ErrorCode.INSUFFICIENT_SCOPE, ErrorCode.RATE_LIMITED);

    private final PublicApi api;
    private final KeyCheck keys;
    private final SessionCheck sessions;
    private final RateLimiter rates;
    private final Allowances allowances;
    private final MeterRegistry meters;

    EdgeFilter(
            PublicApi api,
            KeyCheck keys,
            SessionCheck sessions,
            RateLimiter rates,
            Allowances allowances,
            MeterRegistry meters) {
        this.api = api;
        this.keys = keys;
        this.sessions = sessions;
        this.rates = rates;
        this.allowances = allowances;
        this.meters = meters;
        for (ErrorCode code : COUNTED) {
            meters.counter("gateway.refused", "code", code.name());
        }
    }

    @Override
    protected boolean shouldNotFilter(HttpServletRequest request) {
        // Error and async dispatches passed before.
        return request.getDispatcherType() != DispatcherType.REQUEST;
    }

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        List<Endpoint> here = api.at(request.getRequestURI());
        HttpMethod method = HttpMethod.valueOf(request.getMethod());
        Optional<Endpoint> endpoint =
                here.stream().filter(candidate -> candidate.takes(method)).findFirst();
        Endpoint.Access access = here.isEmpty() ? null : here.getFirst().access();
        if (access != Endpoint.Access.OPEN && access != Endpoint.Access.OPEN_PAGE) {
            boolean page = access == Endpoint.Access.PAGE;
            Caller caller = page ? sessions.check(request).orElse(null) : authenticate(request, response);
            if (caller == null) {
                if (page) {
                    toSignIn(request, response);
                }
                return;
            }
            caller.on(request);
            if (!page
                    && endpoint.isPresent()
                    && !caller.scope().includes(endpoint.get().scope())) {
                refuse(
                        request,
                        response,
                        ErrorCode.INSUFFICIENT_SCOPE,
                        "This needs a key of scope " + endpoint.get().scope().text() + "; yours has scope "
                                + caller.scope().text());
                return;
            }
            int wait = rates.take(
                    caller.keyId(), allowances.perSecond(caller.limits()), allowances.burst(caller.limits()));
            if (wait > 0) {
                response.setIntHeader(HttpHeaders.RETRY_AFTER, wait);
                refuse(request, response, ErrorCode.RATE_LIMITED, "This key called too often; wait " + wait + " s");
                return;
            }
        }
        if (here.isEmpty()) {
            refuse(request, response, ErrorCode.NOT_FOUND, "No resource at " + request.getRequestURI());
            return;
        }
        if (endpoint.isEmpty()) {
            response.setHeader(HttpHeaders.ALLOW, allowed(here));
            refuse(
                    request,
                    response,
                    ErrorCode.METHOD_NOT_ALLOWED,
                    request.getMethod() + " is not supported here; allowed: " + allowed(here));
            return;
        }
        if (!readable(request)) {
            Problems.write(request, response, ErrorCode.INVALID_FIELD, "The query can't be read");
            return;
        }
        long limit = allowances.body(Caller.find(request).orElse(null), endpoint.get());
        if (request.getContentLengthLong() > limit) {
            refuse(request, response, ErrorCode.TOO_LARGE, LimitedBody.detail(limit));
            return;
        }
        chain.doFilter(new LimitedBody(request, limit), response);
    }

    /** Whether the query has a form that can be read, and no NUL character, which the store can't take. */
    private static boolean readable(HttpServletRequest request) {
        String query = request.getQueryString();
        if (query == null || request.getContentType() != null) {
            // A form in the body counts among the parameters, and its size is not checked yet.
            return query == null || !query.contains("%00");
        }
        try {
            request.getParameterMap();
            return !query.contains("%00");
        } catch (IllegalStateException e) {
            return false;
        }
    }

    private @Nullable Caller authenticate(HttpServletRequest request, HttpServletResponse response) throws IOException {
        String header = request.getHeader(HttpHeaders.AUTHORIZATION);
        if (header == null || header.isBlank()) {
            if (READING.contains(request.getMethod())) {
                Optional<Caller> signedIn = sessions.check(request);
                if (signedIn.isPresent()) {
                    return signedIn.get();
                }
            }
            response.setHeader(HttpHeaders.WWW_AUTHENTICATE, "Bearer realm=\"harness-learning\"");
            refuse(request, response, ErrorCode.MISSING_KEY, "Send your API key as 'Authorization: Bearer <key>'");
            return null;
        }
        Optional<Caller> caller = header.regionMatches(true, 0, BEARER, 0, BEARER.length())
                ? keys.check(header.substring(BEARER.length()).strip())
                : Optional.empty();
        if (caller.isEmpty()) {
            response.setHeader(
                    HttpHeaders.WWW_AUTHENTICATE, "Bearer realm=\"harness-learning\", error=\"invalid_token\"");
            refuse(request, response, ErrorCode.INVALID_KEY, "The API key is unknown or was revoked");
            return null;
        }
        return caller.get();
    }

    private void refuse(HttpServletRequest request, HttpServletResponse response, ErrorCode code, String detail)
            throws IOException {
        meters.counter("gateway.refused", "code", code.name()).increment();
        Problems.write(request, response, code, detail);
    }

    /** A page is shown after the sign-in; what a script asked for makes the script go there. */
    private static void toSignIn(HttpServletRequest request, HttpServletResponse response) {
        boolean script = request.getHeader("HX-Request") != null;
        boolean back = READING.contains(request.getMethod()) && !script;
        String query = request.getQueryString();
        String target = request.getRequestURI() + (query == null ? "" : "?" + query);
        String location = "/ui/sign-in" + (back ? "?next=" + URLEncoder.encode(target, StandardCharsets.UTF_8) : "");
        response.setHeader(HttpHeaders.CACHE_CONTROL, "no-store");
        if (script) {
            response.setStatus(HttpServletResponse.SC_UNAUTHORIZED);
            response.setHeader("HX-Redirect", location);
        } else {
            response.setStatus(HttpServletResponse.SC_SEE_OTHER);
            response.setHeader(HttpHeaders.LOCATION, location);
        }
    }

    private static String allowed(List<Endpoint> here) {
        return String.join(
                ", ", here.stream().map(e -> e.method().name()).sorted().toList());
    }
}
