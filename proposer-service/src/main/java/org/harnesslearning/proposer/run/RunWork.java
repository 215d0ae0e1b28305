package org.harnesslearning.proposer.run;

import org.harnesslearning.store.run.RunKind;
import org.jspecify.annotations.Nullable;

/** What a kind of run does. Entered again after every interruption, so it passes over what is committed. */
public interface RunWork {
    /** The kind. */
    RunKind kind();

    /**
     * Does the work to its end.
     *
     * @throws RunStop when it has to be left before; {@code CANCEL}, {@code PAUSE}, {@code OUTAGE}, {@code DRAIN} and
     *     {@code GONE} are for the job, {@code BUDGET} only where nothing can be concluded from what is finished
     */
    Ending work(RunContext run);

    /** Closes what a cancellation left open, in the store only. */
    default void cancelled(RunContext run, String why) {}

    /**
     * How the work ended.
     *
     * @param result what becomes {@code result} of the resource, as JSON value
     */
    record Ending(
            String stopReason,
            @Nullable Object result,
            @Nullable String lineageHash) {}
}
