package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.time.Clock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.web.RequestIdFilter;
import org.harnesslearning.gateway.edge.Caller;
import org.harnesslearning.gateway.edge.LimitedBody;
import org.harnesslearning.gateway.route.Scope;
import org.harnesslearning.gateway.session.Sessions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpStatusCode;
import org.springframework.stereotype.Component;
import org.springframework.ui.Model;
import org.springframework.web.ErrorResponse;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.ModelAttribute;
import org.springframework.web.servlet.ModelAndView;

/** What all pages share: who looks, how values are written, and errors as pages. */
abstract class Page {
    private static final Logger LOG = LoggerFactory.getLogger(Page.class);
    private static final int RETRY_AFTER_S = 5;

    private final Frame frame;

    Page(Frame frame) {
        this.frame = frame;
    }

    /** Fills the layout around a page. */
    @Component
    static final class Frame {
        private final Sessions sessions;
        private final Clock clock;

        Frame(Sessions sessions, Clock clock) {
            this.sessions = sessions;
            this.clock = clock;
        }

        Map<String, Object> fields(HttpServletRequest request) {
            Map<String, Object> fields = new LinkedHashMap<>();
            fields.put("show", new Show(clock.instant()));
            Caller.find(request).ifPresent(caller -> {
                fields.put("me", caller);
                fields.put("role", role(caller.scope()));
                fields.put("canRun", caller.scope().includes(Scope.RUN));
                fields.put("canManage", caller.scope().includes(Scope.ADMIN));
                fields.put("csrf", sessions.token(request));
            });
            return fields;
        }

        private static String role(Scope scope) {
            return switch (scope) {
                case READ -> "Viewer";
                case RUN -> "Operator";
                case ADMIN -> "Admin";
            };
        }
    }

    @ModelAttribute
    void frame(HttpServletRequest request, Model model) {
        model.addAllAttributes(frame.fields(request));
    }

    @ExceptionHandler
    ModelAndView platform(PlatformException e, HttpServletRequest request, HttpServletResponse response) {
        if (e.code() == ErrorCode.INTERNAL) {
            LOG.error("{} {} failed", request.getMethod(), request.getRequestURI(), e);
        }
        if (e.code().status() == 503 || e.code().status() == 429) {
            Integer wait = e.retryAfterSeconds();
            response.setIntHeader("Retry-After", wait == null ? RETRY_AFTER_S : wait);
        }
        String detail = e.getMessage() == null ? e.code().title() : e.getMessage();
        return error(request, e.code().status(), e.code().title(), detail, e.errors());
    }

    @ExceptionHandler
    ModelAndView stale(StaleFormException e, HttpServletRequest request) {
        return error(request, 403, "This form is out of date", String.valueOf(e.getMessage()), List.of());
    }

    @ExceptionHandler
    ModelAndView any(Exception e, HttpServletRequest request, HttpServletResponse response) {
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            if (cause instanceof PlatformException platform) {
                return platform(platform, request, response);
            }
        }
        if (LimitedBody.exceeded(request)) {
            return error(request, 413, ErrorCode.TOO_LARGE.title(), LimitedBody.detail(request), List.of());
        }
        if (e instanceof ErrorResponse known && known.getStatusCode().is4xxClientError()) {
            return error(
                    request,
                    known.getStatusCode().value(),
                    "The request can't be served",
                    String.valueOf(known.getBody().getDetail()),
                    List.of());
        }
        if (e instanceof IOException) {
            LOG.debug("{} {}: {}", request.getMethod(), request.getRequestURI(), e.toString());
        } else {
            LOG.error("{} {} failed", request.getMethod(), request.getRequestURI(), e);
        }
        return error(
                request,
                500,
                "Something went wrong",
                "The page can't be shown. The log has the reason under the request's id.",
                List.of());
    }

    private ModelAndView error(
            HttpServletRequest request, int status, String title, String detail, List<FieldError> errors) {
        ModelAndView page = new ModelAndView(script(request) ? "message :: message" : "message", frame.fields(request));
        page.addObject("status", status);
        page.addObject("title", title);
        page.addObject("detail", detail);
        page.addObject("errors", errors);
        page.addObject("requestId", RequestIdFilter.requestId(request));
        page.setStatus(HttpStatusCode.valueOf(status));
        return page;
    }

    /**
     * Has a form shown again with what is wrong with it, where the one who filled it in can do something about it.
     *
     * @throws PlatformException the same one, where the platform is at fault or the caller may not
     */
    static void again(PlatformException e, HttpServletResponse response, Model model) {
        int status = e.code().status();
        if (status >= 500 || status == 401 || status == 403 || status == 429) {
            throw e;
        }
        response.setStatus(status);
        model.addAttribute(
                "problem",
                e.getMessage() == null || e.getMessage().isBlank() ? e.code().title() : e.getMessage());
        model.addAttribute("faults", e.errors());
        model.addAttribute("wrong", wrong(e.errors()));
    }

    /** What is wrong with a form by the name of its field: {@code /a/b} is the field {@code a.b}. */
    static Map<String, String> wrong(List<FieldError> errors) {
        Map<String, String> wrong = new LinkedHashMap<>();
        errors.forEach(error -> wrong.putIfAbsent(
                error.pointer().substring(Math.min(1, error.pointer().length())).replace('/', '.'), error.detail()));
        return wrong;
    }

    /** Whether a script asked, which takes a part of a page. */
    static boolean script(HttpServletRequest request) {
        return request.getHeader("HX-Request") != null;
    }
}
