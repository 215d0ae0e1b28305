package org.harnesslearning.executor.sandbox;

/**
 * Whether one more job may start, wait or is refused: arithmetic over what runs and waits, nothing else.
 *
 * @param containers most containers with jobs at once
 * @param memoryMib most memory of theirs together, by their limits, in MiB
 * @param cpus most processors of theirs together, by their limits; may exceed what the host has, since a job waits for the
 *     model for most of its time
 * @param queue most jobs that wait
 */
record Admission(int containers, long memoryMib, double cpus, int queue) {
    private static final long MOST_RETRY_S = 60;

    Admission {
        if (containers < 1 || memoryMib < 1 || !(cpus > 0) || queue < 0) {
            throw new IllegalArgumentException("A capacity is too small");
        }
    }

    /** What a job takes while it runs. */
    record Demand(long memoryMib, double cpus) {}

    /** What runs and waits now. */
    record Load(int running, long memoryMib, double cpus, int queued) {
        static final Load NONE = new Load(0, 0, 0, 0);

        Load started(Demand demand) {
            return new Load(running + 1, memoryMib + demand.memoryMib, cpus + demand.cpus, queued);
        }

        Load ended(Demand demand) {
            return new Load(running - 1, memoryMib - demand.memoryMib, cpus - demand.cpus, queued);
        }

        Load queued(int jobs) {
            return new Load(running, memoryMib, cpus, jobs);
        }
    }

    /** What becomes of a job. */
    sealed interface Decision {
        /** It starts at once. */
        record Start() implements Decision {}

        /** It waits for its turn. */
        record Queue() implements Decision {}

        /** It is refused; the caller may try again after so many seconds. */
        record Refuse(int retryAfterS) implements Decision {}
    }

    /**
     * Whether a job fits beside what runs. One whose demand is larger than all there is runs alone, so that it is not
     * refused for ever.
     */
    boolean fits(Load load, Demand demand) {
        if (load.running == 0) {
            return true;
        }
        return load.running < containers
                && load.memoryMib + demand.memoryMib <= memoryMib
                && load.cpus + demand.cpus <= cpus + 1e-9;
    }

    /**
     * Decides for a job that comes now. Jobs start in the order of their coming: one that would fit still waits behind the
     * others.
     *
     * @param meanJobS how long a job takes, in seconds, by the latest ones
     */
    Decision decide(Load load, Demand demand, double meanJobS) {
        if (load.queued == 0 && fits(load, demand)) {
            return new Decision.Start();
        }
        if (load.queued < queue) {
            return new Decision.Queue();
        }
        double drained = meanJobS * Math.max(1, load.queued) / Math.max(1, Math.min(containers, load.running));
        return new Decision.Refuse((int) Math.clamp((long) Math.ceil(drained), 1, MOST_RETRY_S));
    }
}
