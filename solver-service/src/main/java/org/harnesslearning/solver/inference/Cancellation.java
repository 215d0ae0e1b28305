package org.harnesslearning.solver.inference;

import java.util.ArrayList;
import java.util.List;

/** Tells a running call that nobody waits for it any more. Thread-safe. */
public final class Cancellation {
    private final List<Runnable> actions = new ArrayList<>();
    private boolean cancelled;

    /** Runs {@code action} on cancellation, at once if that has happened already. */
    public void onCancel(Runnable action) {
        synchronized (this) {
            if (!cancelled) {
                actions.add(action);
                return;
            }
        }
        action.run();
    }

    /** Cancels; a second time has no effect. */
    public void cancel() {
        List<Runnable> pending;
        synchronized (this) {
            cancelled = true;
            pending = List.copyOf(actions);
            actions.clear();
        }
        pending.forEach(Runnable::run);
    }

    /** Whether {@link #cancel()} was called. */
    public synchronized boolean isCancelled() {
        return cancelled;
    }
}
