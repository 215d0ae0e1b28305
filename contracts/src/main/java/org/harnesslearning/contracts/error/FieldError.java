package org.harnesslearning.contracts.error;

import java.util.Objects;

/**
 * One fault of a request body.
 *
 * @param pointer JSON Pointer (RFC 6901) to the field, such as {@code /splits/dev}
 * @param code what is wrong
 * @param detail one sentence for a person
 */
public record FieldError(String pointer, ErrorCode code, String detail) {
    public FieldError {
        Objects.requireNonNull(pointer, "pointer");
        Objects.requireNonNull(code, "code");
        Objects.requireNonNull(detail, "detail");
    }
}
