package org.harnesslearning.contracts.error;

/** Stable error codes of the HTTP APIs, each with its type and HTTP status. */
public enum ErrorCode {
    MALFORMED_JSON(ErrorType.USER, 400, "The body is not valid JSON"),
    INVALID_FIELD(ErrorType.USER, 400, "A field has a value that is not allowed"),
    UNKNOWN_FIELD(ErrorType.USER, 400, "The body has a field that is not known"),
    UNKNOWN_FAMILY(ErrorType.USER, 400, "No such task family"),
    UNKNOWN_MODEL(ErrorType.USER, 400, "No such model"),
    UNKNOWN_IMAGE(ErrorType.USER, 400, "No such sandbox image"),
    UNKNOWN_TOOL(ErrorType.USER, 400, "No such tool"),
    INVALID_HARNESS(ErrorType.USER, 400, "The harness can't be used"),
    NOT_UTF8(ErrorType.USER, 400, "The body is not UTF-8"),
    BUDGET_TOO_SMALL(ErrorType.USER, 400, "The budget does not cover one round"),
    MISSING_KEY(ErrorType.USER, 401, "No API key was given"),
    INVALID_KEY(ErrorType.USER, 401, "The API key is not valid"),
    INSUFFICIENT_SCOPE(ErrorType.USER, 403, "The API key does not allow this"),
    NOT_FOUND(ErrorType.USER, 404, "No such resource"),
    METHOD_NOT_ALLOWED(ErrorType.USER, 405, "The resource does not take this method"),
    NOT_ACCEPTABLE(ErrorType.USER, 406, "The resource has no such representation"),
    INVALID_STATE(ErrorType.USER, 409, "The resource's state does not allow this"),
    NOT_FINISHED(ErrorType.USER, 409, "The run has not finished"),
    IDEMPOTENCY_MISMATCH(ErrorType.USER, 409, "The idempotency key was used with another request"),
    IDEMPOTENCY_IN_PROGRESS(ErrorType.USER, 409, "The first request with this idempotency key is at work"),
    PROMOTION_REFUSED(ErrorType.USER, 409, "The version is not better than the serving one"),
    TOO_LARGE(ErrorType.USER, 413, "The body is too large"),
    UNSUPPORTED_MEDIA_TYPE(ErrorType.USER, 415, "The body's media type is not supported"),
    OVERLAPPING_SPLITS(ErrorType.USER, 422, "Splits share questions"),
    MISSING_HELD_OUT(ErrorType.USER, 422, "There are no held-out questions"),
    RATE_LIMITED(ErrorType.RESOURCES, 429, "Too many requests"),
    QUEUE_FULL(ErrorType.RESOURCES, 429, "The queue is full"),
    INTERNAL(ErrorType.INTERNAL, 500, "Internal error"),
    DRAINING(ErrorType.RESOURCES, 503, "The service is shutting down"),
    SOLVER_UNAVAILABLE(ErrorType.RESOURCES, 503, "The model can't be reached"),
    SANDBOX_UNAVAILABLE(ErrorType.RESOURCES, 503, "No sandbox can be started");

    private final ErrorType type;
    private final int status;
    private final String title;

    ErrorCode(ErrorType type, int status, String title) {
        this.type = type;
        this.status = status;
        this.title = title;
    }

    /** Who can do something about it. */
    public ErrorType type() {
        return type;
    }

    /** HTTP status code. */
    public int status() {
        return status;
    }

    /** One line for a person, the same for every occurrence. */
    public String title() {
        return title;
    }
}
