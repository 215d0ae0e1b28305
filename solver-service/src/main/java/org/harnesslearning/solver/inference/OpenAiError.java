package org.harnesslearning.solver.inference;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.ErrorType;
import org.harnesslearning.contracts.error.FieldError;
import org.jspecify.annotations.Nullable;

/**
 * An error as clients of the OpenAI API read it.
 *
 * @param message for a person, every fault with its field
 * @param type {@code invalid_request_error}, {@code rate_limit_error} or {@code server_error}
 * @param param the first field at fault
 * @param code the platform's code in lower case
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record OpenAiError(String message, String type, @Nullable String param, String code) {
    static OpenAiError of(ErrorCode code, String detail, List<FieldError> errors) {
        String message = errors.isEmpty()
                ? detail
                : errors.stream()
                        .map(error -> error.pointer() + ": " + error.detail())
                        .collect(Collectors.joining("; "));
        String type = code.status() == 429
                ? "rate_limit_error"
                : code.type() == ErrorType.USER ? "invalid_request_error" : "server_error";
        String param = errors.isEmpty()
                ? null
                : errors.getFirst().pointer().replaceFirst("^/", "").replace('/', '.');
        return new OpenAiError(message, type, param, code.name().toLowerCase(Locale.ROOT));
    }
}
