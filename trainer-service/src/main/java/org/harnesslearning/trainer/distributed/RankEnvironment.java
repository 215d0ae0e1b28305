package org.harnesslearning.trainer.distributed;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * This process's place among the ranks, from the variables that torchrun sets.
 *
 * @param rank 0 leads
 * @param size ranks in all; 1: no distribution
 * @param masterAddress host of rank 0
 * @param masterPort port at which rank 0's store listens
 * @param localRank number of this rank on its host: its GPU
 */
public record RankEnvironment(int rank, int size, String masterAddress, int masterPort, int localRank) {
    private static final int MAX_PORT = 65_535;

    /** A process on its own. */
    public static RankEnvironment single() {
        return new RankEnvironment(0, 1, "", 0, 0);
    }

    /** Whether there are other ranks. */
    public boolean distributed() {
        return size > 1;
    }

    /** Whether this rank runs the training; the others only work for it. */
    public boolean leads() {
        return rank == 0;
    }

    /**
     * Reads {@code RANK}, {@code WORLD_SIZE}, {@code MASTER_ADDR}, {@code MASTER_PORT}, {@code LOCAL_RANK}. In a
     * Kubernetes Indexed Job {@code JOB_COMPLETION_INDEX} stands for RANK, and LOCAL_RANK is 0. With none of them, or a
     * WORLD_SIZE of 1, the process is on its own.
     *
     * @throws DistributedException naming all variables that are missing, wrong or contradict each other
     */
    public static RankEnvironment of(Map<String, String> environment) {
        Variables variables = new Variables(environment);
        if (!variables.has("RANK") && !variables.has("WORLD_SIZE")) {
            return single();
        }
        Integer size = variables.number("WORLD_SIZE", 1, Integer.MAX_VALUE);
        if (!variables.has("WORLD_SIZE")) {
            variables.fault("WORLD_SIZE is missing, though RANK is set");
        }
        Integer index = variables.number("JOB_COMPLETION_INDEX", 0, Integer.MAX_VALUE);
        Integer rank = variables.number("RANK", 0, Integer.MAX_VALUE);
        if (rank != null && index != null && !rank.equals(index)) {
            variables.fault("RANK is " + rank + ", but JOB_COMPLETION_INDEX is " + index);
        }
        if (rank == null) {
            rank = index;
        }
        if (rank == null && size != null && size == 1) {
            rank = 0;
        }
        if (rank == null && !variables.has("RANK") && !variables.has("JOB_COMPLETION_INDEX")) {
            variables.fault("RANK is missing, though WORLD_SIZE is " + size);
        }
        if (rank != null && size != null && rank >= size) {
            variables.fault("RANK " + rank + " is outside 0 … " + (size - 1) + " (WORLD_SIZE is " + size + ")");
        }
        if (size == null || rank == null || size == 1) {
            variables.check();
            return single();
        }
        String address = variables.text("MASTER_ADDR");
        Integer port = variables.number("MASTER_PORT", 1, MAX_PORT);
        if (address == null) {
            variables.fault("MASTER_ADDR is missing: the host of rank 0");
        }
        if (!variables.has("MASTER_PORT")) {
            variables.fault("MASTER_PORT is missing: a free port of rank 0's host");
        }
        Integer local = variables.number("LOCAL_RANK", 0, Integer.MAX_VALUE);
        if (local != null && local > rank) {
            variables.fault("LOCAL_RANK " + local + " is greater than RANK " + rank);
        }
        if (!variables.has("LOCAL_RANK")) {
            if (index == null) {
                variables.fault("LOCAL_RANK is missing: the number of this rank on its host, which is its GPU");
            } else {
                local = 0;
            }
        }
        variables.check();
        if (address == null || port == null || local == null) {
            throw new IllegalStateException("unchecked variables");
        }
        return new RankEnvironment(rank, size, address, port, local);
    }

    private static final class Variables {
        private final Map<String, String> environment;
        private final List<String> faults = new ArrayList<>();

        Variables(Map<String, String> environment) {
            this.environment = environment;
        }

        @Nullable
        String text(String name) {
            String value = environment.get(name);
            return value == null || value.isBlank() ? null : value.strip();
        }

        boolean has(String name) {
            return text(name) != null;
        }

        @Nullable
        Integer number(String name, int least, int most) {
            String text = text(name);
            if (text == null) {
                return null;
            }
            try {
                int value = Integer.parseInt(text);
                if (value >= least && value <= most) {
                    return value;
                }
            } catch (NumberFormatException e) {
                // Said below.
            }
            fault(name + " is '" + text + "', not a whole number "
                    + (most == Integer.MAX_VALUE ? "from " + least + " on" : "from " + least + " to " + most));
            return null;
        }

        void fault(String text) {
            faults.add(text);
        }

        void check() {
            if (!faults.isEmpty()) {
                throw new DistributedException("the ranks' environment is wrong: " + String.join("; ", faults));
            }
        }
    }
}
