package org.harnesslearning.executor.broker;

/** The run's budget does not allow another call; the message says what is used up. */
public final class RunBudgetException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    RunBudgetException(String message) {
        super(message);
    }
}
