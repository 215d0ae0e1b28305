package org.harnesslearning.standalone;

/** Something that a person must see to; the message says what. */
final class StandaloneException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    StandaloneException(String message) {
        super(message);
    }

    StandaloneException(String message, Throwable cause) {
        super(message, cause);
    }
}
