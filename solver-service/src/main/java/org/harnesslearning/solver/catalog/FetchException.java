package org.harnesslearning.solver.catalog;

/** A model could not be brought into the cache; the message says why and what was kept. */
public class FetchException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public FetchException(String message) {
        super(message);
    }

    public FetchException(String message, Throwable cause) {
        super(message, cause);
    }
}
