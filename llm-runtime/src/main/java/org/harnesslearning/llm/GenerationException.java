package org.harnesslearning.llm;

/** A model step failed; the engine goes on with other requests. */
public class GenerationException extends RuntimeException {

    private static final long serialVersionUID = 1;

    public GenerationException(String message) {
        super(message);
    }

    public GenerationException(String message, Throwable cause) {
        super(message, cause);
    }
}
