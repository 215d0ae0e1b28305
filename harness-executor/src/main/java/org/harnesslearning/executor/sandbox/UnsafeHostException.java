package org.harnesslearning.executor.sandbox;

/** This host does not hold a sandbox to what it must: the executor refuses to serve. */
public final class UnsafeHostException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    UnsafeHostException(String gaps) {
        super("This host does not hold a sandbox to what it must. " + gaps);
    }
}
