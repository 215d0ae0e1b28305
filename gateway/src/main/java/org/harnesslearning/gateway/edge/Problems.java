package org.harnesslearning.gateway.edge;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.web.Problem;
import org.harnesslearning.contracts.web.RequestIdFilter;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.web.servlet.function.ServerResponse;

/** Problem details of the gateway itself. */
public final class Problems {
    private Problems() {}

    /** An answer of one code. */
    public static ServerResponse answer(HttpServletRequest request, ErrorCode code, String detail) {
        return answer(request, code, detail, null);
    }

    /** The service behind is away: 503 with {@code Retry-After}. */
    public static ServerResponse unavailable(HttpServletRequest request, String detail, int retryAfterS) {
        return answer(request, ErrorCode.DRAINING, detail, retryAfterS);
    }

    private static ServerResponse answer(
            HttpServletRequest request, ErrorCode code, String detail, @Nullable Integer retryAfterS) {
        ServerResponse.BodyBuilder builder =
                ServerResponse.status(code.status()).contentType(MediaType.parseMediaType(Problem.MEDIA_TYPE));
        if (retryAfterS != null) {
            builder.header(HttpHeaders.RETRY_AFTER, Integer.toString(retryAfterS));
        }
        return builder.body(bytes(request, code, detail));
    }

    /** Writes an answer of one code where no handler was reached. */
    public static void write(HttpServletRequest request, HttpServletResponse response, ErrorCode code, String detail)
            throws IOException {
        response.setStatus(code.status());
        response.setContentType(Problem.MEDIA_TYPE);
        byte[] body = bytes(request, code, detail);
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }

    /** The code that says most about a bare HTTP status. */
    public static ErrorCode codeOf(int status) {
        return switch (status) {
            case 401 -> ErrorCode.MISSING_KEY;
            case 403 -> ErrorCode.INSUFFICIENT_SCOPE;
            case 404 -> ErrorCode.NOT_FOUND;
            case 405 -> ErrorCode.METHOD_NOT_ALLOWED;
            case 406 -> ErrorCode.NOT_ACCEPTABLE;
            case 409 -> ErrorCode.INVALID_STATE;
            case 413 -> ErrorCode.TOO_LARGE;
            case 415 -> ErrorCode.UNSUPPORTED_MEDIA_TYPE;
            case 429 -> ErrorCode.RATE_LIMITED;
            case 503 -> ErrorCode.DRAINING;
            default -> status < 500 ? ErrorCode.INVALID_FIELD : ErrorCode.INTERNAL;
        };
    }

    private static byte[] bytes(HttpServletRequest request, ErrorCode code, String detail) {
        return Json.mapper().writeValueAsBytes(Problem.of(code, detail, RequestIdFilter.requestId(request), List.of()));
    }
}
