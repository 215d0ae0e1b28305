package org.harnesslearning.llm;

/** An adapter cannot be loaded, is not there, or may not be used with this model; the message says why. */
public class AdapterException extends RuntimeException {

    private static final long serialVersionUID = 1;

    public AdapterException(String message) {
        super(message);
    }
}
