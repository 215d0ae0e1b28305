package org.harnesslearning.executor.sandbox;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/** Starts a container for every job, as many at once as the settings allow. */
public final class DockerSandboxes implements Sandboxes, AutoCloseable {
    /** The question of a dry call, and the reply to each of its model calls: texts that any harness must survive. */
    private static final String DRY_QUESTION = "What is 1 + 1?";

    private static final String DRY_REPLY = "The answer is 2.";

    private final DockerEngine engine;
    private final String image;
    private final SandboxSettings settings;
    private final Semaphore permits;
    private final ExecutorService calls = Executors.newVirtualThreadPerTaskExecutor();

    /** Sandboxes from one image. */
    public DockerSandboxes(DockerEngine engine, String image, SandboxSettings settings) {
        this.engine = engine;
        this.image = image;
        this.settings = settings;
        this.permits = new Semaphore(settings.maxContainers(), true);
    }

    @Override
    public HarnessSandbox open(String job, String source, Limits limits) throws InterruptedException {
        permits.acquire();
        Runnable release = once(permits::release);
        boolean opened = false;
        try {
            SandboxContainer container = engine.start(new ContainerSpec(image, job, limits.memoryMib()));
            try {
                HarnessSandbox sandbox = DockerHarnessSandbox.load(container, source, settings, limits, calls, release);
                opened = true;
                return sandbox;
            } catch (JacksonException e) {
                throw new SandboxFaultException("The runner broke the protocol", e);
            } finally {
                if (!opened) {
                    container.close();
                }
            }
        } finally {
            if (!opened) {
                release.run();
            }
        }
    }

    @Override
    public CheckResult check(String source, Limits limits) throws InterruptedException {
        permits.acquire();
        try (SandboxContainer container = engine.start(new ContainerSpec(image, "check", limits.memoryMib()))) {
            Duration smoke = Duration.ofSeconds(Math.min(
                    limits.questionWallClockS(), settings.smokeTimeout().toSeconds()));
            container.send(new RunnerFrames.Check(
                    source,
                    RunnerFrames.RunnerLimits.of(settings),
                    settings.forbiddenImports(),
                    settings.staticTimeout().toSeconds(),
                    smoke.toSeconds(),
                    DRY_QUESTION,
                    new RunnerFrames.Check.Canned(DRY_REPLY, limits.solverCallsPerQuestion())));
            Duration most = settings.staticTimeout().plus(smoke).plus(settings.clockGrace());
            return switch (container.receive(most)) {
                case Received.Frame(JsonNode body) -> {
                    RunnerFrames.Checked checked = Json.mapper().treeToValue(body, RunnerFrames.Checked.class);
                    yield checked.code() == null
                            ? CheckResult.PASSED
                            : new CheckResult(OutcomeCode.valueOf(checked.code()), checked.message(), checked.line());
                }
                case Received.Nothing nothing -> throw new SandboxFaultException("A check did not end in time", null);
                case Received.Closed closed -> {
                    if (container.end().memoryKill()) {
                        yield new CheckResult(
                                OutcomeCode.SMOKE_ERROR, "The dry run used more memory than allowed", null);
                    }
                    throw new SandboxFaultException(closed.reason() + ". " + container.stderr(), null, true);
                }
            };
        } catch (JacksonException | IllegalArgumentException e) {
            throw new SandboxFaultException("The runner broke the protocol", e);
        } finally {
            permits.release();
        }
    }

    private static Runnable once(Runnable action) {
        AtomicBoolean done = new AtomicBoolean();
        return () -> {
            if (done.compareAndSet(false, true)) {
                action.run();
            }
        };
    }

    @Override
    public void close() {
        calls.shutdownNow();
    }
}
