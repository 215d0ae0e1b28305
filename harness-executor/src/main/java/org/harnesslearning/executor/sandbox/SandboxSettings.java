package org.harnesslearning.executor.sandbox;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the sandbox.
 *
 * @param dockerHost address of the engine, such as {@code unix:///var/run/docker.sock}; null: {@code DOCKER_HOST}, or
 *     the default socket
 * @param image name of the sandbox image; null: built by {@code imageBuild} where it is missing
 * @param imageBuild script that builds the image and prints its name, relative to the working directory
 * @param imageBuildTimeout most time for that script
 * @param runtime OCI runtime, such as {@code runsc} for gVisor; null: the engine's default
 * @param owner label of all containers of this installation
 * @param maxContainers most harness containers of this executor at once
 * @param cpus processors of a container
 * @param pids most processes and threads in a container, as its control group counts them: a runtime with a kernel of its
 *     own has threads of its own there
 * @param userPids most processes and threads of the container's user, as its kernel counts them; for a runtime with a
 *     kernel of its own only: one that containers share counts those of the same user together. Null: not limited
 * @param tmpMib size of the only writable folder, {@code /tmp}, which counts as memory
 * @param controlTimeout most time for one answer of the engine
 * @param startTimeout most time from a container's start to its first frame
 * @param clockGrace how long a container may overrun a question's clock before it is killed from outside
 * @param deadlineFactor the whole time of a question, model calls included, as a multiple of its clock
 * @param maxLifetime age at which a leftover container of a lost executor may be removed by any other
 * @param outputBytes most bytes of standard output and error of a question; more is {@code OUTPUT_LIMIT}
 * @param captureBytes bytes of each stream, and of the log, that are kept for the report
 * @param channelBytes most bytes that a question may send to the platform, prompts and answer included
 * @param answerChars longest answer
 * @param smokeTimeout most time for import and one dry call
 * @param staticTimeout most time for compiling and walking the syntax tree
 * @param acceptedGaps protections that this host may lack; every other one that the self-check misses stops the start
 * @param forbiddenImports top-level modules that a harness must not import; their C twins ({@code _socket}) are meant too
 */
@ConfigurationProperties("executor.sandbox")
public record SandboxSettings(
        @Nullable String dockerHost,
        @Nullable String image,

        @DefaultValue("harness-executor/sandbox-image/build.sh")
        String imageBuild,

        @DefaultValue("15m") Duration imageBuildTimeout,
        @Nullable String runtime,
        @DefaultValue("harness-learning") String owner,
        @DefaultValue("8") int maxContainers,
        @DefaultValue("1.0") double cpus,
        @DefaultValue("64") int pids,
        @Nullable Integer userPids,
        @DefaultValue("16") int tmpMib,
        @DefaultValue("30s") Duration controlTimeout,
        @DefaultValue("60s") Duration startTimeout,
        @DefaultValue("10s") Duration clockGrace,
        @DefaultValue("20") int deadlineFactor,
        @DefaultValue("6h") Duration maxLifetime,
        @DefaultValue("1048576") int outputBytes,
        @DefaultValue("8192") int captureBytes,
        @DefaultValue("8388608") int channelBytes,
        @DefaultValue("65536") int answerChars,
        @DefaultValue("10s") Duration smokeTimeout,
        @DefaultValue("20s") Duration staticTimeout,

        @DefaultValue({}) Set<Protection> acceptedGaps,

        @DefaultValue({"ctypes", "socket", "multiprocessing", "threading", "signal", "importlib"})
        List<String> forbiddenImports) {
    public SandboxSettings {
        acceptedGaps = Set.copyOf(acceptedGaps);
        forbiddenImports = List.copyOf(forbiddenImports);
        if (maxContainers < 1
                || pids < 4
                || (userPids != null && userPids < 4)
                || !(cpus > 0)
                || tmpMib < 1
                || deadlineFactor < 1) {
            throw new IllegalArgumentException("executor.sandbox: a limit is too small");
        }
    }

    /** How many processes and threads there can be in a container. */
    int mostProcesses() {
        return userPids == null ? pids : Math.min(userPids, pids);
    }
}
