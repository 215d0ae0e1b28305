package org.harnesslearning.trainer.distributed;

import org.jspecify.annotations.Nullable;

/** Learners of rank 0. Alone, it loads no native library before the first one is opened. */
final class RankLearners implements Learners {
    private final @Nullable Rendezvous rendezvous;

    RankLearners(RankEnvironment place, DistributedSettings settings) {
        if (!place.leads()) {
            throw new DistributedException(
                    "rank " + place.rank() + " is a worker: start it as trainer-service of its own");
        }
        rendezvous = place.distributed() ? Rendezvous.open(place, settings) : null;
    }

    @Override
    public Learner open(LearnerSettings settings) {
        return rendezvous == null
                ? new LocalLearner(settings, new SingleProcess())
                : new LeadingLearner(rendezvous, settings);
    }

    @Override
    public void dismiss() {
        if (rendezvous != null) {
            Session.dismiss(rendezvous);
        }
    }

    @Override
    public void close() {
        if (rendezvous != null) {
            rendezvous.close();
        }
    }
}
