package org.harnesslearning.trainer.distributed;

/** Opens learners: in this process alone, or over all ranks. */
public interface Learners extends AutoCloseable {
    /**
     * Those of rank 0.
     *
     * @throws DistributedException when the place is another rank's
     */
    static Learners of(RankEnvironment place, DistributedSettings settings) {
        return new RankLearners(place, settings);
    }

    /**
     * Opens the model on all ranks; they check that they have the same base, settings and code.
     *
     * @throws DistributedException when a rank does not join in time or differs
     */
    Learner open(LearnerSettings settings);

    /** Tells the other ranks, where there are some, that no learner will follow. */
    default void dismiss() {}

    @Override
    default void close() {}
}
