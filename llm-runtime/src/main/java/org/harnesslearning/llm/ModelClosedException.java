package org.harnesslearning.llm;

/** The model was closed before the request was done. */
public class ModelClosedException extends RuntimeException {

    private static final long serialVersionUID = 1;

    public ModelClosedException(String message) {
        super(message);
    }
}
