package org.harnesslearning.contracts.web;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.jspecify.annotations.Nullable;

/**
 * Body of every error: RFC 9457 problem details with the platform's stable {@code code}. Extension members of single
 * services are ignored when it is read.
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
@JsonIgnoreProperties(ignoreUnknown = true)
public record Problem(
        String type,
        String title,
        int status,
        String detail,
        ErrorCode code,
        @Nullable String requestId,
        List<FieldError> errors) {
    /** Media type of the body. */
    public static final String MEDIA_TYPE = "application/problem+json";

    /** A problem of one code. */
    public static Problem of(ErrorCode code, String detail, @Nullable String requestId, List<FieldError> errors) {
        return new Problem("about:blank", code.title(), code.status(), detail, code, requestId, List.copyOf(errors));
    }
}
