package org.harnesslearning.contracts.web;

import jakarta.servlet.http.HttpServletRequest;
import java.nio.charset.CharacterCodingException;
import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.http.converter.HttpMessageNotReadableException;
import org.springframework.web.ErrorResponseException;
import org.springframework.web.HttpMediaTypeNotAcceptableException;
import org.springframework.web.HttpMediaTypeNotSupportedException;
import org.springframework.web.HttpRequestMethodNotSupportedException;
import org.springframework.web.bind.MissingServletRequestParameterException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.context.request.async.AsyncRequestNotUsableException;
import org.springframework.web.method.annotation.MethodArgumentTypeMismatchException;
import org.springframework.web.servlet.resource.NoResourceFoundException;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DatabindException;
import tools.jackson.databind.exc.UnrecognizedPropertyException;

/** Turns every exception of a controller into problem+json; unexpected ones are logged, never shown. */
@RestControllerAdvice
@Order(Ordered.HIGHEST_PRECEDENCE)
public class ProblemAdvice {
    private static final Logger LOG = LoggerFactory.getLogger(ProblemAdvice.class);

    @ExceptionHandler
    ResponseEntity<Problem> platform(PlatformException e, HttpServletRequest request) {
        if (e.code() == ErrorCode.INTERNAL) {
            LOG.error("{} {} failed", request.getMethod(), request.getRequestURI(), e);
        }
        return answer(e.code(), e.getMessage(), e.errors(), e.retryAfterSeconds(), request);
    }

    @ExceptionHandler
    ResponseEntity<Problem> unreadable(HttpMessageNotReadableException e, HttpServletRequest request) {
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            if (cause instanceof PlatformException platform) {
                return platform(platform, request);
            }
            if (cause instanceof CharacterCodingException) {
                return answer(ErrorCode.NOT_UTF8, "The body is not UTF-8 text", List.of(), null, request);
            }
            if (cause instanceof UnrecognizedPropertyException unknown) {
                return answer(
                        ErrorCode.UNKNOWN_FIELD,
                        "Unknown field " + pointer(unknown),
                        List.of(new FieldError(pointer(unknown), ErrorCode.UNKNOWN_FIELD, "No such field")),
                        null,
                        request);
            }
            if (cause instanceof DatabindException bind) {
                String detail = "Field " + pointer(bind) + ": " + bind.getOriginalMessage();
                return answer(
                        ErrorCode.INVALID_FIELD,
                        detail,
                        List.of(new FieldError(pointer(bind), ErrorCode.INVALID_FIELD, detail)),
                        null,
                        request);
            }
            if (cause instanceof JacksonException json) {
                String where = json.getLocation() == null
                        ? ""
                        : " at line " + json.getLocation().getLineNr() + ", column "
                                + json.getLocation().getColumnNr();
                if (json.getOriginalMessage() != null
                        && json.getOriginalMessage().contains("UTF-8")) {
                    return answer(ErrorCode.NOT_UTF8, "The body is not UTF-8 text" + where, List.of(), null, request);
                }
                return answer(ErrorCode.MALFORMED_JSON, "The body is not valid JSON" + where, List.of(), null, request);
            }
        }
        return answer(ErrorCode.MALFORMED_JSON, "The body is missing or unreadable", List.of(), null, request);
    }

    @ExceptionHandler
    ResponseEntity<Problem> missing(MissingServletRequestParameterException e, HttpServletRequest request) {
        return answer(ErrorCode.INVALID_FIELD, e.getMessage(), List.of(), null, request);
    }

    @ExceptionHandler
    ResponseEntity<Problem> mismatch(MethodArgumentTypeMismatchException e, HttpServletRequest request) {
        return answer(
                ErrorCode.INVALID_FIELD,
                "Parameter " + e.getName() + " has a value of the wrong type",
                List.of(),
                null,
                request);
    }

    @ExceptionHandler
    ResponseEntity<Problem> method(HttpRequestMethodNotSupportedException e, HttpServletRequest request) {
        return answer(ErrorCode.METHOD_NOT_ALLOWED, e.getMethod() + " is not supported here", List.of(), null, request);
    }

    @ExceptionHandler
    ResponseEntity<Problem> type(HttpMediaTypeNotSupportedException e, HttpServletRequest request) {
        return answer(
                ErrorCode.UNSUPPORTED_MEDIA_TYPE,
                "Content-Type " + e.getContentType() + " is not supported",
                List.of(),
                null,
                request);
    }

    @ExceptionHandler
    ResponseEntity<Problem> accept(HttpMediaTypeNotAcceptableException e, HttpServletRequest request) {
        return answer(
                ErrorCode.NOT_ACCEPTABLE, "None of the accepted media types is offered", List.of(), null, request);
    }

    @ExceptionHandler
    ResponseEntity<Problem> noResource(NoResourceFoundException e, HttpServletRequest request) {
        return answer(ErrorCode.NOT_FOUND, "No resource at " + request.getRequestURI(), List.of(), null, request);
    }

    /** The client of a stream has gone: nobody is left to answer, and nothing failed. */
    @ExceptionHandler
    void gone(AsyncRequestNotUsableException e, HttpServletRequest request) {
        LOG.debug("the client of {} {} has gone: {}", request.getMethod(), request.getRequestURI(), e.getMessage());
    }

    @ExceptionHandler
    ResponseEntity<Problem> other(Exception e, HttpServletRequest request) {
        if (e instanceof ErrorResponseException web && web.getStatusCode().is4xxClientError()) {
            return answer(ErrorCode.INVALID_FIELD, "The request can't be served", List.of(), null, request);
        }
        LOG.error("{} {} failed", request.getMethod(), request.getRequestURI(), e);
        return answer(ErrorCode.INTERNAL, "The request failed inside the platform", List.of(), null, request);
    }

    private static ResponseEntity<Problem> answer(
            ErrorCode code,
            @Nullable String detail,
            List<FieldError> errors,
            @Nullable Integer retryAfter,
            HttpServletRequest request) {
        HttpHeaders headers = new HttpHeaders();
        headers.setContentType(MediaType.parseMediaType(Problem.MEDIA_TYPE));
        if (retryAfter != null) {
            headers.set(HttpHeaders.RETRY_AFTER, Integer.toString(retryAfter));
        } else if (code.status() == 429 || code.status() == 503) {
            headers.set(HttpHeaders.RETRY_AFTER, "5");
        }
        Problem problem =
                Problem.of(code, detail == null ? code.title() : detail, RequestIdFilter.requestId(request), errors);
        return new ResponseEntity<>(problem, headers, code.status());
    }

    private static String pointer(DatabindException e) {
        List<String> parts = new ArrayList<>();
        for (JacksonException.Reference reference : e.getPath()) {
            String name = reference.getPropertyName();
            parts.add(
                    name == null
                            ? Integer.toString(reference.getIndex())
                            : name.replace("~", "~0").replace("/", "~1"));
        }
        return parts.isEmpty() ? "" : "/" + String.join("/", parts);
    }
}
