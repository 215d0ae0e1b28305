package org.harnesslearning.contracts.web;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.List;
import java.util.Set;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.trace.WorkContext;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Lets only callers with the installation's secret reach an internal service; health and metrics are open. The header
 * is {@code X-Internal-Secret}; for OpenAI clients {@code Authorization: Bearer <secret>} is taken as well.
 * {@code X-Run-Id} of such a caller names the run in this service's log lines.
 */
@Order(Ordered.HIGHEST_PRECEDENCE + 10)
public class InternalSecretFilter extends OncePerRequestFilter {
    /** Header name. */
    public static final String HEADER = "X-Internal-Secret";

    /** Header with the id of the run that the caller works for. */
    public static final String RUN = "X-Run-Id";

    private static final Set<String> OPEN = Set.of("/livez", "/readyz", "/metrics");

    private final byte[] secret;

    /** A filter for one secret, which must not be blank. */
    public InternalSecretFilter(String secret) {
        if (secret.isBlank()) {
            throw new IllegalArgumentException("platform.internal-secret is not set; every service needs the same one");
        }
        this.secret = secret.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    protected boolean shouldNotFilter(HttpServletRequest request) {
        return OPEN.contains(request.getRequestURI());
    }

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        String given = request.getHeader(HEADER);
        String bearer = request.getHeader("Authorization");
        if (given == null && bearer != null && bearer.startsWith("Bearer ")) {
            given = bearer.substring("Bearer ".length());
        }
        if (given != null && MessageDigest.isEqual(secret, given.getBytes(StandardCharsets.UTF_8))) {
            String run = request.getHeader(RUN);
            try (WorkContext.Fields _ = WorkContext.named(WorkContext.plain(run) ? run : null, null)) {
                chain.doFilter(request, response);
            }
            return;
        }
        ErrorCode code = given == null ? ErrorCode.MISSING_KEY : ErrorCode.INVALID_KEY;
        response.setStatus(code.status());
        response.setContentType(Problem.MEDIA_TYPE);
        response.getOutputStream()
                .write(Json.mapper()
                        .writeValueAsBytes(Problem.of(
                                code,
                                "This service takes calls of the platform's own services only",
                                RequestIdFilter.requestId(request),
                                List.of())));
    }
}
