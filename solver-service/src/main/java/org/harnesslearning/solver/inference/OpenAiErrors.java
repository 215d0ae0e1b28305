package org.harnesslearning.solver.inference;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.web.Problem;
import org.jspecify.annotations.Nullable;
import org.springframework.core.MethodParameter;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.converter.HttpMessageConverter;
import org.springframework.http.server.ServerHttpRequest;
import org.springframework.http.server.ServerHttpResponse;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.servlet.mvc.method.annotation.ResponseBodyAdvice;

/**
 * Adds to problem details the {@code error} that clients of the OpenAI API look for, as an extension member. An unknown
 * model is 404 here, as in that API.
 */
@ControllerAdvice
class OpenAiErrors implements ResponseBodyAdvice<Object> {
    /** Problem details with the extension. */
    record Body(@JsonUnwrapped Problem problem, OpenAiError error) {}

    @Override
    public boolean supports(MethodParameter type, Class<? extends HttpMessageConverter<?>> converter) {
        return true;
    }

    @Override
    public @Nullable Object beforeBodyWrite(
            @Nullable Object body,
            MethodParameter returnType,
            MediaType contentType,
            Class<? extends HttpMessageConverter<?>> converter,
            ServerHttpRequest request,
            ServerHttpResponse response) {
        if (!(body instanceof Problem problem)) {
            return body;
        }
        Problem shown = problem;
        if (problem.code() == ErrorCode.UNKNOWN_MODEL) {
            HttpStatus status = HttpStatus.NOT_FOUND;
            response.setStatusCode(status);
            shown = new Problem(
                    problem.type(),
                    problem.title(),
                    status.value(),
                    problem.detail(),
                    problem.code(),
                    problem.requestId(),
                    problem.errors());
        }
        return new Body(shown, OpenAiError.of(shown.code(), shown.detail(), shown.errors()));
    }
}
