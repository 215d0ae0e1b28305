package org.harnesslearning.executor.sandbox;

import java.util.Map;

/**
 * A container to start. All other options are the same hardened set for every container.
 *
 * @param image its entry point speaks frames and sends one first, unasked
 * @param job names the work, for the label
 * @param memoryMib memory in MiB; there is no swap
 * @param environment the only variables beside the image's own
 */
public record ContainerSpec(String image, String job, int memoryMib, Map<String, String> environment) {
    public ContainerSpec {
        environment = Map.copyOf(environment);
    }

    /** A container without variables. */
    public ContainerSpec(String image, String job, int memoryMib) {
        this(image, job, memoryMib, Map.of());
    }
}
