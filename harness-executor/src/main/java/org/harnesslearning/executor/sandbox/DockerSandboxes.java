package org.harnesslearning.executor.sandbox;

import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.SandboxImage;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.execution.SandboxTool;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.store.execution.ExecutorInstances;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/** A container for every job, taken from the pool where it has one, as many at once as the settings allow. */
public final class DockerSandboxes implements Sandboxes, AutoCloseable {
    /** The question of a dry call, and the reply to each of its model calls: texts that any harness must survive. */
    private static final String DRY_QUESTION = "What is 1 + 1?";

    private static final String DRY_REPLY = "The answer is 2.";

    private final SandboxSettings settings;
    private final List<String> gaps;
    private final ContainerPool pool;
    private final OwnImages images;
    private final JobGate gate;
    private final ExecutorService calls = Executors.newVirtualThreadPerTaskExecutor();

    /**
     * Sandboxes from one image; the pool begins to fill.
     *
     * @param check what the host lacks
     */
    public DockerSandboxes(
            DockerEngine engine,
            String image,
            SandboxSettings settings,
            SelfCheck check,
            PoolSettings pool,
            AdmissionSettings admission,
            MeterRegistry metrics) {
        this.gaps = check.names();
        this.settings = settings;
        this.gate = new JobGate(admission.admission(settings.maxContainers(), engine.host()), metrics);
        this.pool = new ContainerPool(engine, image, pool, metrics);
        this.images = new OwnImages(engine, settings, pool, metrics);
    }

    private Admission.Demand demand(Limits limits) {
        return new Admission.Demand(limits.memoryMib(), settings.cpus());
    }

    @Override
    public OptionalInt retryAfterS(Limits limits) {
        return switch (gate.decision(demand(limits))) {
            case Admission.Decision.Start start -> OptionalInt.empty();
            case Admission.Decision.Queue queue -> OptionalInt.empty();
            case Admission.Decision.Refuse(int seconds) -> OptionalInt.of(seconds);
        };
    }

    /** Started containers that wait for a job. */
    public int idle() {
        return pool.idle() + images.idle();
    }

    /** What goes on here now. */
    public ExecutorInstances.Occupancy occupancy() {
        Admission.Load load = gate.load();
        return new ExecutorInstances.Occupancy(
                load.running(), load.queued(), idle(), pool.starting() + images.starting());
    }

    @Override
    public HarnessSandbox open(String job, String source, Limits limits, SandboxKit kit) throws InterruptedException {
        JobGate.Place place = gate.enter(demand(limits));
        boolean opened = false;
        try {
            SandboxContainer container = poolOf(kit).take(job, limits.memoryMib());
            try {
                HarnessSandbox sandbox =
                        DockerHarnessSandbox.load(container, source, settings, limits, calls, place::close);
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
                place.close();
            }
        }
    }

    @Override
    public CheckResult check(String source, Limits limits, SandboxKit kit) throws InterruptedException {
        JobGate.Place place = gate.enter(demand(limits));
        try (SandboxContainer container = poolOf(kit).take("check", limits.memoryMib())) {
            Duration smoke = Duration.ofSeconds(Math.min(
                    limits.questionWallClockS(), settings.smokeTimeout().toSeconds()));
            container.send(new RunnerFrames.Check(
                    source,
                    RunnerFrames.RunnerLimits.of(settings),
                    settings.forbiddenImports(),
                    settings.staticTimeout().toSeconds(),
                    smoke.toSeconds(),
                    DRY_QUESTION,
                    new RunnerFrames.Check.Canned(DRY_REPLY, limits.solverCallsPerQuestion()),
                    kit.tools().stream().collect(Collectors.toMap(SandboxTool::name, SandboxTool::answer))));
            Duration most = settings.staticTimeout().plus(smoke).plus(settings.clockGrace());
            return switch (container.receive(most)) {
                case Received.Frame(JsonNode body) -> {
                    RunnerFrames.Checked checked = Json.mapper().treeToValue(body, RunnerFrames.Checked.class);
                    yield checked.code() == null
                            ? CheckResult.PASSED
                            : new CheckResult(OutcomeCode.valueOf(checked.code()), checked.message(), checked.line());
                }
                case Received.Nothing nothing -> {
                    container.end(); // an engine that can't tell of it is at fault itself
                    throw new SandboxFaultException("A check did not end in time", null, true);
                }
                case Received.Closed closed -> {
                    SandboxContainer.End end = container.end();
                    if (end.memoryKill()) {
                        yield new CheckResult(
                                OutcomeCode.SMOKE_ERROR, "The dry run used more memory than allowed", null);
                    }
                    throw new SandboxFaultException(
                            closed.reason() + ". " + container.stderr(), null, closed.broken() || !end.ranOn());
                }
            };
        } catch (JacksonException | IllegalArgumentException e) {
            throw new SandboxFaultException("The runner broke the protocol", e);
        } finally {
            place.close();
        }
    }

    private ContainerPool poolOf(SandboxKit kit) throws InterruptedException {
        SandboxImage image = kit.image();
        return image == null ? pool : images.pool(image);
    }

    @Override
    public List<String> gaps() {
        return gaps;
    }

    @Override
    public void close() {
        pool.close();
        images.close();
        calls.shutdownNow();
    }
}
