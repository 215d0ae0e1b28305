package org.harnesslearning.executor.sandbox;

/** A sandbox that holds one harness. For one thread. */
public interface HarnessSandbox extends AutoCloseable {
    /**
     * Runs the harness on one question; blocks until it ended. Before it returns, all processes of the question are dead
     * and its files are gone, or the sandbox is not {@link #usable()} any more.
     *
     * @throws InterruptedException when the caller's thread is interrupted; the sandbox is not usable then
     */
    SandboxResult ask(String question, Broker broker) throws InterruptedException;

    /** Whether another question may be asked; if not, open a new sandbox. */
    boolean usable();

    /** Removes the sandbox. Never throws. */
    @Override
    void close();
}
