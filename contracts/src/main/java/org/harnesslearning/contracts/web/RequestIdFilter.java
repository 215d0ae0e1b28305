package org.harnesslearning.contracts.web;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.UUID;
import org.harnesslearning.contracts.trace.WorkContext;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.web.filter.OncePerRequestFilter;

/** Gives every request an id: the caller's {@code X-Request-Id} when it is plain, else a new one; echoed in the answer. */
@Order(Ordered.HIGHEST_PRECEDENCE)
public class RequestIdFilter extends OncePerRequestFilter {
    /** Header name. */
    public static final String HEADER = "X-Request-Id";

    private static final String ATTRIBUTE = RequestIdFilter.class.getName();

    /** The request's id, null before the filter ran. */
    public static @Nullable String requestId(HttpServletRequest request) {
        return request.getAttribute(ATTRIBUTE) instanceof String id ? id : null;
    }

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        String given = request.getHeader(HEADER);
        String id = given != null && WorkContext.plain(given)
                ? given
                : UUID.randomUUID().toString();
        request.setAttribute(ATTRIBUTE, id);
        response.setHeader(HEADER, id);
        try (WorkContext.Fields _ = WorkContext.named(null, id)) {
            chain.doFilter(request, response);
        }
    }
}
