package org.harnesslearning.trainer.decoder;

/** A value that must be a number is none; the message says which, and what was left unchanged. */
public class NonFiniteException extends RuntimeException {

    private static final long serialVersionUID = 1;

    public NonFiniteException(String message) {
        super(message);
    }
}
