package org.harnesslearning.executor.gym;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the container that runs Reasoning Gym.
 *
 * @param image name of its image; null: built by {@code imageBuild} where it is missing
 * @param imageBuild script that builds the image and prints its name, relative to the working directory
 * @param imageBuildTimeout most time for that script, downloads included
 * @param memoryMib memory of the container in MiB
 * @param requestTimeout most time for one request, waiting for requests before it included; then the container counts as
 *     hung and is replaced. The server's own limits are far lower
 * @param maxRequests most requests in the container at once; others wait
 * @param maxAge age at which the container is replaced; below the sandbox's {@code maxLifetime}
 * @param maxStarts most starts of a container within {@code startWindow}; further needs fail at once
 * @param startWindow see {@code maxStarts}
 */
@ConfigurationProperties("executor.gym")
public record GymSettings(
        @Nullable String image,

        @DefaultValue("harness-executor/gym-image/build.sh") String imageBuild,

        @DefaultValue("20m") Duration imageBuildTimeout,
        @DefaultValue("1024") int memoryMib,
        @DefaultValue("10m") Duration requestTimeout,
        @DefaultValue("16") int maxRequests,
        @DefaultValue("2h") Duration maxAge,
        @DefaultValue("6") int maxStarts,
        @DefaultValue("1m") Duration startWindow) {
    public GymSettings {
        if (memoryMib < 256 || maxRequests < 1 || maxStarts < 1) {
            throw new IllegalArgumentException("executor.gym: a limit is too small");
        }
    }
}
