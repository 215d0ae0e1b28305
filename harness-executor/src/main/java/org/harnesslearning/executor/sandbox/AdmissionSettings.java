package org.harnesslearning.executor.sandbox;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the admission of jobs; the most containers at once are {@code executor.sandbox.max-containers}.
 *
 * @param queue jobs that wait for a container before new executions and checks are answered with 429
 * @param memoryMib most memory of all running jobs together, by their limits; null: three quarters of the engine's host
 * @param cpus most processors of all running jobs together, by their limits; null: four times those of the engine's host
 */
@ConfigurationProperties("executor.admission")
public record AdmissionSettings(
        @DefaultValue("32") int queue,
        @Nullable Long memoryMib,
        @Nullable Double cpus) {
    private static final double MEMORY_SHARE = 0.75;
    private static final int CPU_FACTOR = 4;

    public AdmissionSettings {
        if (queue < 0) {
            throw new IllegalArgumentException("executor.admission.queue is negative");
        }
    }

    Admission admission(int containers, DockerEngine.Host host) {
        long memory = memoryMib == null ? (long) (host.memoryMib() * MEMORY_SHARE) : memoryMib;
        double processors = cpus == null ? (double) CPU_FACTOR * host.cpus() : cpus;
        return new Admission(containers, Math.max(1, memory), processors, queue);
    }
}
