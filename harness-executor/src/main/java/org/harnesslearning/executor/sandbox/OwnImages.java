package org.harnesslearning.executor.sandbox;

import io.micrometer.core.instrument.MeterRegistry;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.ToIntFunction;
import org.harnesslearning.contracts.execution.SandboxImage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The operator's images that tasks use. Containers of them are started with the very same options as all others. At its
 * first use an image has to pass what the platform's own passes at the start: its entry point is the runner, of this version,
 * and the host's protections hold in it. One that fails is looked at again by the next job, since it may have been mended.
 */
final class OwnImages implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(OwnImages.class);

    /** As the self-check's. */
    private static final int MEMORY_MIB = 64;

    private final DockerEngine engine;
    private final SandboxSettings settings;
    private final PoolSettings pools;
    private final MeterRegistry metrics;
    private final ReentrantLock lock = new ReentrantLock();

    /** By reference. */
    private final Map<String, ContainerPool> passed = new ConcurrentHashMap<>();

    private volatile boolean closed;

    OwnImages(DockerEngine engine, SandboxSettings settings, PoolSettings pools, MeterRegistry metrics) {
        this.engine = engine;
        this.settings = settings;
        this.pools = pools;
        this.metrics = metrics;
    }

    /**
     * Started containers of an image.
     *
     * @throws SandboxFaultException saying what is wrong with the image, and what to do
     */
    ContainerPool pool(SandboxImage image) throws InterruptedException {
        ContainerPool known = passed.get(image.reference());
        if (known != null) {
            return known;
        }
        // One first use at a time; jobs of images that passed before do not wait for it.
        lock.lockInterruptibly();
        try {
            known = passed.get(image.reference());
            if (known != null) {
                return known;
            }
            check(image);
            LOG.info("the sandbox image {} ({}) passed", image.name(), image.reference());
            ContainerPool made = ContainerPool.forImage(engine, image, pools, metrics);
            passed.put(image.reference(), made);
            if (closed) {
                made.close();
                throw new SandboxFaultException("The executor is shutting down", null);
            }
            return made;
        } finally {
            lock.unlock();
        }
    }

    private void check(SandboxImage image) throws InterruptedException {
        if (!engine.hasImage(image.reference())) {
            throw new SandboxFaultException(
                    "The sandbox image " + image.name() + " (" + image.reference()
                            + ") is not at the Docker engine: pull it, or build it with sandbox-image/derive.sh",
                    null);
        }
        try (SandboxContainer container =
                engine.start(new ContainerSpec(image.reference(), "image-check", MEMORY_MIB))) {
            int protocol = container.ready().path("protocol").asInt(0);
            if (!container.ready().path("type").asString("").equals("ready") || protocol != RunnerFrames.PROTOCOL) {
                throw new SandboxFaultException(
                        "its runner speaks version " + protocol + " of the protocol, and this executor version "
                                + RunnerFrames.PROTOCOL,
                        null);
            }
            SelfCheck.run(engine, image.reference(), settings);
        } catch (SandboxFaultException | UnsafeHostException e) {
            throw new SandboxFaultException(
                    "The sandbox image " + image.name() + " (" + image.reference() + ") can't be used: "
                            + e.getMessage() + ". Derive it anew from this version's sandbox image with"
                            + " sandbox-image/derive.sh, and leave its entry point alone",
                    e);
        }
    }

    int idle() {
        return sum(ContainerPool::idle);
    }

    int starting() {
        return sum(ContainerPool::starting);
    }

    private int sum(ToIntFunction<ContainerPool> count) {
        return passed.values().stream().mapToInt(count).sum();
    }

    @Override
    public void close() {
        closed = true;
        passed.values().forEach(ContainerPool::close);
    }
}
