package org.harnesslearning.executor.sandbox;

import java.time.Duration;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/**
 * Looks, from inside a container like every other, at what this host really holds it to. Options that the engine was given
 * and did not apply are found here: a limit on swap on a kernel that accounts none, for one.
 *
 * @param gaps protections that this host lacks, each accepted by the setting {@code executor.sandbox.accepted-gaps}
 */
public record SelfCheck(Set<Protection> gaps) {
    private static final int MEMORY_MIB = 64;

    /** What a process needs that does nothing; a kernel of its own keeps whole pages of 2 MiB for each. */
    private static final int PROCESS_MIB = 8;

    private static final int MOST_MIB = 2048;

    private static final int PROBE_S = 60;
    private static final String NO_CAPABILITIES = "0".repeat(16);
    private static final int NOBODY = 65534;
    private static final int OWN_FILTERS = 2;

    public SelfCheck {
        gaps = gaps.isEmpty() ? Set.of() : Set.copyOf(gaps);
    }

    /** Names of the gaps, in order. */
    public List<String> names() {
        return gaps.stream().sorted().map(Enum::name).toList();
    }

    /**
     * Checks the host by one container.
     *
     * @throws UnsafeHostException naming every protection that is missing and not accepted
     * @throws SandboxFaultException when the container can't be started or says nothing
     * @throws InterruptedException when the caller's thread is interrupted; nothing is left then
     */
    public static SelfCheck run(DockerEngine engine, String image, SandboxSettings settings)
            throws InterruptedException {
        Facts facts;
        @Nullable String tooMany;
        boolean memoryHeld;
        boolean swapHeld;
        int most = settings.mostProcesses();
        try (Probe probe = new Probe(engine, image, settings, MEMORY_MIB);
                Probe roomy = new Probe(engine, image, settings, Math.min(MEMORY_MIB + PROCESS_MIB * most, MOST_MIB))) {
            facts = Json.mapper().treeToValue(probe.ask("facts", 0).facts(), Facts.class);
            if (facts == null) {
                throw new SandboxFaultException("The self-check's container says nothing", null);
            }
            // A runtime with a kernel of its own ends the whole container in place of the one process: that holds as
            // well.
            RunnerFrames.Probed processes = roomy.ask("processes", most);
            if (processes.outcome().equals(Probe.ENDED)) {
                tooMany = null;
            } else if (processes.facts() == null) {
                tooMany = "they could not be counted: " + processes.outcome();
            } else {
                tooMany = processes.facts().asInt(most) < most ? null : "all that were tried, " + most;
            }
            memoryHeld = probe.killed((long) MEMORY_MIB * 2 << 20);
            // Such a kernel shows no swap but its own, which is none. But who takes as much as the whole limit beside
            // the rest of the container lives only by swap.
            String kernel = engine.host().kernel();
            swapHeld =
                    kernel == null || facts.kernel() == null || facts.kernel().equals(kernel)
                            ? swapHeld(facts)
                            : probe.killed((long) MEMORY_MIB << 20);
        } catch (JacksonException e) {
            throw new SandboxFaultException("The self-check's container does not speak as it should", e);
        }
        Map<Protection, String> missing = missing(facts, tooMany, memoryHeld, swapHeld);
        Set<Protection> refused = EnumSet.noneOf(Protection.class);
        refused.addAll(missing.keySet());
        refused.removeAll(settings.acceptedGaps());
        if (!refused.isEmpty()) {
            throw new UnsafeHostException(refused.stream()
                    .map(protection -> protection + ": " + missing.get(protection))
                    .collect(Collectors.joining("; ")));
        }
        return new SelfCheck(missing.keySet());
    }

    /** Without any swap on the host a missing limit does no harm; a limit that allows some does where there is some. */
    private static boolean swapHeld(Facts facts) {
        return Long.valueOf(0).equals(facts.hostSwap())
                || (facts.swap() != null && !facts.swap().equals("max") && Long.parseLong(facts.swap()) <= 0);
    }

    /**
     * The protections that these facts show to be missing, each with what was found.
     *
     * @param tooMany how many processes could be had at once where they were not fewer than allowed
     * @param memoryHeld whether a process that took twice the memory limit was killed
     * @param swapHeld whether nothing can be swapped out beside that limit
     */
    private static Map<Protection, String> missing(
            Facts facts, @Nullable String tooMany, boolean memoryHeld, boolean swapHeld) {
        Map<Protection, String> missing = new EnumMap<>(Protection.class);
        if (!memoryHeld) {
            missing.put(Protection.MEMORY_LIMIT, "a process took twice the limit and lived; memory " + facts.memory());
        }
        if (!swapHeld) {
            missing.put(
                    Protection.SWAP_LIMIT,
                    "swap beside the memory limit " + facts.swap() + ", swap of the host " + facts.hostSwap()
                            + " bytes; the kernel may need swapaccount=1");
        }
        if (tooMany != null) {
            missing.put(Protection.PIDS_LIMIT, "processes at once: " + tooMany + "; pids " + facts.pids());
        }
        if (!facts.reached().isEmpty() || facts.interfaces().stream().anyMatch(name -> !name.equals("lo"))) {
            missing.put(Protection.NETWORK, "interfaces " + facts.interfaces() + ", routes to " + facts.reached());
        }
        if (!NO_CAPABILITIES.equals(facts.capabilities())) {
            missing.put(Protection.CAPABILITIES, "sets of capabilities " + facts.capabilities());
        }
        if (!Integer.valueOf(1).equals(facts.noNewPrivs())) {
            missing.put(Protection.NO_NEW_PRIVILEGES, "NoNewPrivs " + facts.noNewPrivs());
        }
        // The runner's and the child's own filters count; kernels before 5.9, and gVisor, do not tell the number.
        boolean own = facts.unfiltered().isEmpty();
        boolean onlyOwn = own
                && (facts.seccompFilters() == null ? !facts.engineFiltered() : facts.seccompFilters() <= OWN_FILTERS);
        if (!Integer.valueOf(2).equals(facts.seccomp()) || onlyOwn) {
            missing.put(Protection.SECCOMP, "Seccomp " + facts.seccomp() + ", filters " + facts.seccompFilters());
        }
        if (!own) {
            missing.put(Protection.SYSCALL_FILTER, "let through: " + facts.unfiltered());
        }
        if (!facts.writableRoot().isEmpty()) {
            missing.put(Protection.READ_ONLY_ROOT, "written to " + facts.writableRoot());
        }
        if (facts.uid() != NOBODY || facts.gid() != NOBODY) {
            missing.put(Protection.UNPRIVILEGED_USER, "user " + facts.uid() + ", group " + facts.gid());
        }
        if (!facts.opened().isEmpty()) {
            missing.put(Protection.RUNNER_CLOSED, "opened " + facts.opened());
        }
        return missing;
    }

    /** Asks one container after the other, since a question may end the container that it is asked in. */
    private static final class Probe implements AutoCloseable {
        static final String ENDED = "ended";

        private final DockerEngine engine;
        private final String image;
        private final SandboxSettings settings;
        private final int memoryMib;
        private @Nullable SandboxContainer container;

        Probe(DockerEngine engine, String image, SandboxSettings settings, int memoryMib) {
            this.engine = engine;
            this.image = image;
            this.settings = settings;
            this.memoryMib = memoryMib;
        }

        /** Whether a process that takes this much is killed for it. */
        boolean killed(long bytes) throws InterruptedException {
            String outcome = ask("memory", bytes).outcome();
            return outcome.equals(ENDED) || outcome.equals("out_of_memory");
        }

        RunnerFrames.Probed ask(String what, long count) throws InterruptedException {
            SandboxContainer asked = container;
            if (asked == null) {
                asked = engine.start(new ContainerSpec(image, "self-check", memoryMib));
                container = asked;
            }
            asked.send(new RunnerFrames.Probe(RunnerFrames.RunnerLimits.of(settings), what, PROBE_S, count));
            return switch (asked.receive(Duration.ofSeconds(PROBE_S).plus(settings.clockGrace()))) {
                case Received.Frame(JsonNode body) -> Json.mapper().treeToValue(body, RunnerFrames.Probed.class);
                case Received.Nothing nothing ->
                    throw new SandboxFaultException("The self-check's container does not answer", null);
                case Received.Closed closed -> {
                    boolean ended = !asked.end().ranOn();
                    close();
                    if (!ended || what.equals("facts")) {
                        throw new SandboxFaultException(
                                "The self-check's container ended: " + closed.reason() + ". " + asked.stderr(), null);
                    }
                    yield new RunnerFrames.Probed("probed", ENDED, null);
                }
            };
        }

        @Override
        public void close() {
            if (container != null) {
                container.close();
                container = null;
            }
        }
    }

    /**
     * What a child of the runner found out about its sandbox; null where it can't be found out.
     *
     * @param kernel release of the kernel; another one than the engine's host has where the runtime brings its own
     * @param memory memory limit in bytes as the kernel has it
     * @param swap bytes of swap beside it, or {@code max}
     * @param pids limit on processes as the kernel has it
     * @param hostSwap swap of the host in bytes
     * @param reached of a few addresses, those to which there is a route
     * @param capabilities the one value of all five sets, in hexadecimal digits
     * @param seccomp mode of the system call filter; 2 is a filter
     * @param seccompFilters how many filters there are
     * @param engineFiltered whether a system call is denied that the engine's usual filter denies and the runner's does not
     * @param writableRoot folders outside {@code /tmp} that could be written to
     * @param opened files of the runner and the kernel that could be opened
     * @param unfiltered dangerous system calls that were let through
     */
    record Facts(
            String python,
            @Nullable String kernel,
            @Nullable Integer cgroup,
            @Nullable String memory,
            @Nullable String swap,
            @Nullable String pids,
            @Nullable Long hostSwap,
            List<String> interfaces,
            List<String> reached,
            @Nullable String capabilities,
            @Nullable Integer noNewPrivs,
            @Nullable Integer seccomp,
            @Nullable Integer seccompFilters,
            boolean engineFiltered,
            int uid,
            int gid,
            List<String> writableRoot,
            List<String> opened,
            List<String> unfiltered) {
        Facts {
            interfaces = List.copyOf(interfaces);
            reached = List.copyOf(reached);
            writableRoot = List.copyOf(writableRoot);
            opened = List.copyOf(opened);
            unfiltered = List.copyOf(unfiltered);
        }
    }
}
