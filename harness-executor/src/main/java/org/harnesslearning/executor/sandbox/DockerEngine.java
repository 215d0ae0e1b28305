package org.harnesslearning.executor.sandbox;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.command.CreateContainerCmd;
import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.exception.ConflictException;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.exception.NotModifiedException;
import com.github.dockerjava.api.model.Capability;
import com.github.dockerjava.api.model.Container;
import com.github.dockerjava.api.model.HostConfig;
import com.github.dockerjava.api.model.Info;
import com.github.dockerjava.api.model.LogConfig;
import com.github.dockerjava.api.model.Ulimit;
import com.github.dockerjava.core.DefaultDockerClientConfig;
import com.github.dockerjava.core.DockerClientConfig;
import com.github.dockerjava.core.DockerClientImpl;
import com.github.dockerjava.zerodep.ZerodepDockerHttpClient;
import java.io.IOException;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;
import org.harnesslearning.contracts.trace.WorkContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;

/**
 * The Docker engine, as far as the platform uses it: hardened single-use containers. Every call to it is bounded in
 * time. A container is registered for removal by its name before it is created, and removed on every path; what the engine
 * does not remove is set aside, and the {@link Reaper} tries again. No image, volume or network is made for a job.
 *
 * <p>Not set, unless the settings say so for a runtime with a kernel of its own: a limit on the user's processes
 * ({@code nproc}), which in a shared kernel counts all containers of the same user together ({@code pids-limit} counts
 * one). Never set: an init process; the entry point is process 1, because the kernel lets
 * no process of the container send signals to that one.
 */
public final class DockerEngine implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DockerEngine.class);
    static final String OWNER = "org.harnesslearning.owner";
    static final String REGISTRY = "org.harnesslearning.registry";
    static final String INSTANCE = "org.harnesslearning.instance";
    static final String JOB = "org.harnesslearning.job";
    static final String RUN = "org.harnesslearning.run";
    static final String DEADLINE = "org.harnesslearning.deadline";
    private static final long MIB = 1 << 20;
    private static final long FILE_BYTES = 64 * MIB;
    private static final long OPEN_FILES = 256;

    private final SandboxSettings settings;
    private final Clock clock;
    private final DockerClient control;
    private final DockerClient streaming;
    private final String registry;
    private final String instance = UUID.randomUUID().toString();

    /** Names and ids of containers that may exist on behalf of this executor. */
    private final Set<String> registered = ConcurrentHashMap.newKeySet();

    /** Of these, the ones that the engine did not remove when asked. */
    private final Set<String> quarantined = ConcurrentHashMap.newKeySet();

    /** Held for reading by whoever starts a container. */
    private final ReentrantReadWriteLock starts = new ReentrantReadWriteLock();

    private volatile boolean closed;

    private DockerEngine(
            SandboxSettings settings, Clock clock, String registry, DockerClient control, DockerClient streaming) {
        this.settings = settings;
        this.clock = clock;
        this.registry = registry;
        this.control = control;
        this.streaming = streaming;
    }

    /**
     * Connects to the engine.
     *
     * @param registry names the place where the executors of this installation tell that they live; a label of all
     *     containers, so that no other installation judges them by its own
     * @throws DockerUnavailableException when none answers, with what to do
     */
    public static DockerEngine connect(SandboxSettings settings, Clock clock, String registry) {
        DefaultDockerClientConfig.Builder builder = DefaultDockerClientConfig.createDefaultConfigBuilder();
        if (settings.dockerHost() != null) {
            builder.withDockerHost(settings.dockerHost());
        }
        DockerClientConfig config = builder.build();
        // An attached stream may be silent for as long as a model call takes: no answer time-out on its connections.
        DockerEngine engine = new DockerEngine(
                settings,
                clock,
                registry,
                client(config, settings.controlTimeout(), settings),
                client(config, Duration.ZERO, settings));
        try {
            engine.call(() -> engine.control.pingCmd().exec());
        } catch (RuntimeException e) {
            engine.closeClients();
            throw new DockerUnavailableException(
                    "No Docker engine answers at " + config.getDockerHost()
                            + ". Harnesses run in Docker containers only. Install Docker Engine (Debian: apt-get install"
                            + " docker.io), start it (systemctl start docker), or set DOCKER_HOST to an engine that this"
                            + " user may use.",
                    e);
        }
        return engine;
    }

    private static DockerClient client(DockerClientConfig config, Duration answer, SandboxSettings settings) {
        ZerodepDockerHttpClient.Builder transport = new ZerodepDockerHttpClient.Builder()
                .dockerHost(config.getDockerHost())
                .sslConfig(config.getSSLConfig())
                .maxConnections(2 * settings.maxContainers() + 32)
                .connectionTimeout(Duration.ofSeconds(10));
        if (!answer.isZero()) {
            transport.responseTimeout(answer);
        }
        return DockerClientImpl.getInstance(config, transport.build());
    }

    /**
     * The machine that the engine runs on.
     *
     * @param kernel the release of its kernel
     */
    record Host(int cpus, long memoryMib, @Nullable String kernel) {}

    /** What the engine's machine has. */
    Host host() {
        Info info = call(() -> control.infoCmd().exec());
        Integer cpus = info.getNCPU();
        Long memory = info.getMemTotal();
        return new Host(cpus == null ? 1 : cpus, memory == null ? 1024 : memory / MIB, info.getKernelVersion());
    }

    /**
     * One call to the engine, in bounded time. The transport's own time-out ends only those over TCP: an engine that stalls
     * behind a Unix socket would hold the caller for ever. An interrupt is kept for later: what became of a call must be
     * known.
     */
    private <T extends @Nullable Object> T call(Supplier<T> command) {
        FutureTask<T> task = new FutureTask<>(command::get);
        Thread.ofVirtual().name("docker-control").start(task);
        long end = System.nanoTime() + settings.controlTimeout().toNanos();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return task.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw new IllegalStateException(e.getCause());
        } catch (TimeoutException e) {
            task.cancel(true); // which closes its connection
            throw new IllegalStateException("no answer within " + settings.controlTimeout(), e);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Names this executor among those of its installation; also a label of its containers. */
    String instance() {
        return instance;
    }

    /** Address of the engine in the settings; null: that of the environment. */
    @Nullable
    String dockerHost() {
        return settings.dockerHost();
    }

    /** Whether the engine answers now. */
    public boolean healthy() {
        try {
            call(() -> control.pingCmd().exec());
            return true;
        } catch (RuntimeException e) {
            return false;
        }
    }

    /** Whether the engine has an image of this name. */
    public boolean hasImage(String image) {
        try {
            call(() -> control.inspectImageCmd(image).exec());
            return true;
        } catch (NotFoundException e) {
            return false;
        }
    }

    /**
     * Starts a container and waits for its first frame, which says that its entry point is ready.
     *
     * @throws SandboxFaultException when the engine refuses or the first frame does not come in time
     * @throws InterruptedException when the caller's thread is interrupted; nothing is left then
     */
    public SandboxContainer start(ContainerSpec spec) throws InterruptedException {
        starts.readLock().lockInterruptibly();
        try {
            if (closed) {
                throw new SandboxFaultException("The executor is shutting down", null);
            }
            return begin(spec);
        } finally {
            starts.readLock().unlock();
        }
    }

    private SandboxContainer begin(ContainerSpec spec) throws InterruptedException {
        // Known before the engine is asked: an answer that gets lost must not leave a container that nobody knows.
        String name = "harness-" + UUID.randomUUID();
        registered.add(name);
        String run = WorkContext.run(); // of this thread; the engine is called in another
        String id = null;
        try {
            id = call(() -> create(spec, name, run));
            registered.add(id);
        } catch (NotFoundException e) {
            throw new SandboxFaultException("The image " + spec.image() + " is missing", e);
        } catch (RuntimeException e) {
            throw new SandboxFaultException("The Docker engine can't create a container: " + reason(e), e);
        } finally {
            if (id == null) {
                remove(name);
            } else {
                registered.remove(name);
            }
        }
        SandboxContainer container = new SandboxContainer(this, id);
        boolean started = false;
        try {
            streaming
                    .attachContainerCmd(id)
                    .withStdIn(container.outgoing())
                    .withStdOut(true)
                    .withStdErr(true)
                    .withFollowStream(true)
                    .exec(container.streams());
            if (!container.streams().awaitStarted(settings.controlTimeout().toMillis(), TimeUnit.MILLISECONDS)) {
                throw new SandboxFaultException("The Docker engine does not attach to a container", null);
            }
            String made = id;
            call(() -> control.startContainerCmd(made).exec());
            switch (container.receive(settings.startTimeout())) {
                case Received.Frame(JsonNode body) -> container.ready(body);
                case Received.Nothing nothing ->
                    throw new SandboxFaultException("A container did not get ready in time", null);
                case Received.Closed closed ->
                    throw new SandboxFaultException(
                            closed.reason() + " before it was ready. " + container.stderr(), null);
            }
            started = true;
            return container;
        } catch (SandboxFaultException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new SandboxFaultException("The Docker engine can't start a container: " + reason(e), e);
        } finally {
            if (!started) {
                container.close();
            }
        }
    }

    private String create(ContainerSpec spec, String name, @Nullable String run) {
        long memory = spec.memoryMib() * MIB;
        HostConfig host = HostConfig.newHostConfig()
                .withNetworkMode("none")
                .withIpcMode("none")
                .withReadonlyRootfs(true)
                .withCapDrop(Capability.ALL)
                .withSecurityOpts(List.of("no-new-privileges:true"))
                .withPidsLimit((long) settings.pids())
                .withMemory(memory)
                .withMemorySwap(memory)
                .withOomKillDisable(false)
                .withNanoCPUs((long) (settings.cpus() * 1e9))
                .withUlimits(limits())
                .withTmpFs(Map.of(
                        "/tmp",
                        "rw,noexec,nosuid,nodev,size=" + settings.tmpMib()
                                + "m,nr_inodes=1024,uid=65534,gid=65534,mode=0700"))
                .withLogConfig(new LogConfig(LogConfig.LoggingType.NONE))
                .withAutoRemove(false);
        if (settings.runtime() != null) {
            host.withRuntime(settings.runtime());
        }
        Instant deadline = clock.instant().plus(settings.maxLifetime());
        Map<String, String> labels = new HashMap<>(Map.of(
                OWNER, settings.owner(),
                REGISTRY, registry,
                INSTANCE, instance,
                JOB, spec.job(),
                DEADLINE, Long.toString(deadline.getEpochSecond())));
        if (run != null) {
            labels.put(RUN, run);
        }
        try (CreateContainerCmd create = control.createContainerCmd(spec.image())) {
            return create.withName(name)
                    .withHostConfig(host)
                    .withUser("65534:65534")
                    .withHostName("sandbox")
                    // A network namespace of its own with nothing in it, as "none" gives, without the engine's set-up
                    // of
                    // one, which costs as much as all the rest of a start.
                    .withNetworkDisabled(true)
                    .withEnv(spec.environment().entrySet().stream()
                            .map(variable -> variable.getKey() + "=" + variable.getValue())
                            .toList())
                    .withLabels(labels)
                    .withStopTimeout(1)
                    .withAttachStdin(true)
                    .withAttachStdout(true)
                    .withAttachStderr(true)
                    .withStdinOpen(true)
                    .withStdInOnce(true)
                    .exec()
                    .getId();
        }
    }

    private List<Ulimit> limits() {
        List<Ulimit> limits = new ArrayList<>(List.of(
                new Ulimit("nofile", OPEN_FILES, OPEN_FILES),
                new Ulimit("core", 0L, 0L),
                new Ulimit("fsize", FILE_BYTES, FILE_BYTES)));
        Integer processes = settings.userPids();
        if (processes != null) {
            limits.add(new Ulimit("nproc", processes.longValue(), processes.longValue()));
        }
        return limits;
    }

    SandboxContainer.End end(String id) {
        try {
            boolean ranOn = true;
            try {
                call(() -> control.killContainerCmd(id).exec());
            } catch (ConflictException | NotModifiedException e) {
                ranOn = false;
            }
            InspectContainerResponse.ContainerState state =
                    call(() -> control.inspectContainerCmd(id).exec()).getState();
            Long exitCode = state.getExitCodeLong();
            return new SandboxContainer.End(
                    exitCode == null ? -1 : exitCode.intValue(), Boolean.TRUE.equals(state.getOOMKilled()), ranOn);
        } catch (RuntimeException e) {
            throw new SandboxFaultException("The Docker engine can't tell how a container ended: " + reason(e), e);
        }
    }

    /** Kills and removes; what the engine does not remove in time is set aside. */
    void remove(String id) {
        try {
            call(() -> control.removeContainerCmd(id)
                    .withForce(true)
                    .withRemoveVolumes(true)
                    .exec());
            forget(id);
        } catch (NotFoundException e) {
            forget(id);
        } catch (RuntimeException e) {
            if (quarantined.add(id)) {
                LOG.warn("the container {} is set aside, since the engine does not remove it: {}", id, reason(e));
            }
        }
    }

    private void forget(String id) {
        registered.remove(id);
        if (quarantined.remove(id)) {
            LOG.info("the container {} that was set aside is gone", id);
        }
    }

    /** Containers that this executor has started and not removed yet. */
    public int containers() {
        return registered.size();
    }

    /** Of these, the ones that the engine did not remove when it was asked to. */
    public int quarantined() {
        return quarantined.size();
    }

    /** Tries once more to remove what was set aside. */
    void removeQuarantined() {
        List.copyOf(quarantined).forEach(this::remove);
    }

    /**
     * Removes containers that nobody else will: those of this installation's executors that do not live, those of this
     * executor that it does not know (their creation was answered too late), and those of other installations' executors,
     * of which nothing is known here, past their deadline. Those of living executors stay, whatever state they are in.
     *
     * @param living instances that live; null when that can't be told now, and then none counts as lost
     * @return how many were removed
     */
    int removeLeftovers(@Nullable Set<String> living) {
        long now = clock.instant().getEpochSecond();
        int removed = 0;
        for (Container container : call(() -> control.listContainersCmd()
                .withShowAll(true)
                .withLabelFilter(Map.of(OWNER, settings.owner()))
                .exec())) {
            Map<String, String> labels = container.getLabels();
            boolean lost;
            if (instance.equals(labels.get(INSTANCE))) {
                lost = !registered.contains(container.getId())
                        && Arrays.stream(container.getNames())
                                .noneMatch(name -> registered.contains(name.substring(1)));
            } else if (registry.equals(labels.get(REGISTRY))) {
                lost = living != null && !living.contains(labels.get(INSTANCE));
            } else {
                lost = deadline(labels) < now;
            }
            if (lost) {
                try (WorkContext.Fields _ = WorkContext.named(labels.get(RUN), null)) {
                    LOG.info("removing the leftover container {} of {}", container.getId(), labels.get(JOB));
                    remove(container.getId());
                }
                removed++;
            }
        }
        return removed;
    }

    private static long deadline(Map<String, String> labels) {
        String label = labels.get(DEADLINE);
        return label != null && label.matches("\\d{1,18}") ? Long.parseLong(label) : 0;
    }

    /** Removes all containers that are left and closes the connections. */
    @Override
    public void close() {
        closed = true;
        boolean none = false;
        try {
            // A container that is just being made is not known yet; its start has to end first.
            none = starts.writeLock().tryLock(settings.controlTimeout().toMillis(), TimeUnit.MILLISECONDS);
            if (!none) {
                LOG.warn("a container is still being started");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            if (none) {
                starts.writeLock().unlock();
            }
        }
        List.copyOf(registered).forEach(this::remove);
        closeClients();
    }

    private void closeClients() {
        for (DockerClient client : List.of(control, streaming)) {
            try {
                client.close();
            } catch (IOException e) {
                LOG.debug("closing the Docker client", e);
            }
        }
    }

    private static @Nullable String reason(Throwable e) {
        return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    }
}
