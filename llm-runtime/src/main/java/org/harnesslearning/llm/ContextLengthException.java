package org.harnesslearning.llm;

/** Prompt and completion together are longer than a slot. */
public class ContextLengthException extends RuntimeException {

    private static final long serialVersionUID = 1;

    public ContextLengthException(String message) {
        super(message);
    }
}
