package org.harnesslearning.contracts.error;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The one exception that carries an {@link ErrorCode} to the HTTP edge. */
public class PlatformException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ErrorCode code;
    private final transient List<FieldError> errors;
    private final @Nullable Integer retryAfterSeconds;

    /** An error without field faults. */
    public PlatformException(ErrorCode code, String detail) {
        this(code, detail, List.of(), null, null);
    }

    /** An error with its cause. */
    public PlatformException(ErrorCode code, String detail, Throwable cause) {
        this(code, detail, List.of(), null, cause);
    }

    /**
     * The full form.
     *
     * @param retryAfterSeconds value of {@code Retry-After} in seconds, for errors of type RESOURCES
     */
    public PlatformException(
            ErrorCode code,
            String detail,
            List<FieldError> errors,
            @Nullable Integer retryAfterSeconds,
            @Nullable Throwable cause) {
        super(detail, cause);
        this.code = Objects.requireNonNull(code, "code");
        this.errors = List.copyOf(errors);
        this.retryAfterSeconds = retryAfterSeconds;
    }

    /** A fault of one field. */
    public static PlatformException field(ErrorCode code, String pointer, String detail) {
        return new PlatformException(code, detail, List.of(new FieldError(pointer, code, detail)), null, null);
    }

    /** All faults of a body at once; the first one's code is the error's. */
    public static PlatformException fields(List<FieldError> errors) {
        return new PlatformException(errors.getFirst().code(), errors.getFirst().detail(), errors, null, null);
    }

    public ErrorCode code() {
        return code;
    }

    public List<FieldError> errors() {
        return errors;
    }

    /** Seconds to wait before the next try, where known. */
    public @Nullable Integer retryAfterSeconds() {
        return retryAfterSeconds;
    }
}
