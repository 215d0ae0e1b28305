package org.harnesslearning.executor.execution;

/** Ends the whole execution from inside one question. */
final class EndedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient Ending ending;

    EndedException(Ending ending, Throwable cause) {
        super(ending.message(), cause);
        this.ending = ending;
    }

    Ending ending() {
        return ending;
    }
}
