package org.harnesslearning.trainer.grpo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.sample.GroupRow;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.distributed.Accumulated;
import org.harnesslearning.trainer.distributed.Learner;
import org.harnesslearning.trainer.distributed.Step;
import org.harnesslearning.trainer.method.ModelTokens;
import org.harnesslearning.trainer.method.Trainee;
import org.harnesslearning.trainer.optimizer.LearningRate;
import org.harnesslearning.trainer.rollout.Sampler;
import org.harnesslearning.trainer.rollout.ServedPolicy;
import org.harnesslearning.trainer.run.StepReport;
import org.harnesslearning.trainer.run.TrainingContext;
import org.harnesslearning.trainer.run.TrainingWork;
import org.jspecify.annotations.Nullable;

/**
 * The online loop: serve the policy → sample groups over the platform → read them in Postgres → log-probabilities before
 * the step → so many steps on the batch.
 */
final class GrpoWork implements TrainingWork {
    private static final String STATE = "grpo.json";
    static final String LEARNER = "learner";

    private final TrainingContext context;
    private final GrpoSettings settings;
    private final Learner learner;
    private final ModelTokens tokens;
    private final Sampler sampler;
    private final ServedPolicy served;
    private final GroupStore groups;
    private final LearningRate rate;
    private long steps;
    private @Nullable Prepared prepared;

    GrpoWork(
            TrainingContext context,
            GrpoSettings settings,
            Trainee trainee,
            Sampler sampler,
            ServedPolicy served,
            GroupStore groups) {
        this.context = context;
        this.settings = settings;
        this.learner = trainee.learner();
        this.tokens = trainee.tokens();
        this.sampler = sampler;
        this.served = served;
        this.groups = groups;
        this.rate = settings.optimizer().rate(context.budget().steps());
    }

    /** A batch with the log-probabilities from before its first step. */
    private record Prepared(long number, Batch batch, List<float[]> old, List<float[]> reference) {}

    /**
     * What stands in a checkpoint beside the learner.
     *
     * @param old of the batch that is under way; empty between batches
     */
    record State(long steps, List<float[]> old, List<float[]> reference) {}

    @Override
    public Optional<StepReport> step() {
        long number = steps / settings.iterations();
        boolean first = steps % settings.iterations() == 0;
        if (first && spent()) {
            return Optional.empty();
        }
        Prepared current = prepared;
        if (first || current == null) {
            current = prepare(number);
            prepared = current;
        }
        Batch batch = current.batch();
        Map<String, Double> metrics = new TreeMap<>(batch.metrics());
        Map<String, Long> counts = new TreeMap<>(first ? batch.counts() : Map.of());
        double learningRate = rate.at(steps);
        if (batch.members().isEmpty()) {
            counts.put("batches_dropped", 1L);
        } else {
            train(current, learningRate, metrics, counts);
        }
        steps++;
        if (steps % settings.iterations() == 0) {
            prepared = null;
        }
        return Optional.of(new StepReport(steps, metrics, counts));
    }

    private void train(Prepared current, double learningRate, Map<String, Double> metrics, Map<String, Long> counts) {
        context.desk().pending("");
        Batch batch = current.batch();
        Instant start = context.clock().instant();
        Accumulated accumulated = learner.accumulate(
                batch.sequences(),
                settings.rollout().temperature(),
                PolicyObjective.of(settings.loss(), batch.samples(current.old(), current.reference())));
        Step step = learner.step(learningRate);
        double seconds = Duration.between(start, context.clock().instant()).toNanos() / 1e9;
        if (Double.isFinite(accumulated.loss())) {
            metrics.put(StepReport.LOSS, accumulated.loss());
        }
        metrics.putAll(PolicyStatistics.of(accumulated.statistics()).metrics());
        metrics.put(StepReport.LEARNING_RATE, learningRate);
        if (step.applied()) {
            metrics.put(StepReport.GRAD_NORM, step.gradientNorm());
        } else {
            counts.put("steps_refused", 1L);
        }
        if (seconds > 0) {
            metrics.put(StepReport.TOKENS_PER_SECOND, batch.length() / seconds);
        }
        counts.put(StepReport.TOKENS, batch.tokens());
    }

    private Prepared prepare(long number) {
        // Learner and place are those after the last step, and the groups of the batch have their numbers.
        List<GroupRow> rows = context.desk().waiting(() -> sampler.batch(number, this::serve));
        Batch batch = read(number, rows);
        List<float[]> old = batch.members().isEmpty() ? List.of() : learner.logprobs(batch.sequences(), temperature());
        List<float[]> reference = batch.members().isEmpty() || !settings.reference()
                ? List.of()
                : learner.referenceLogprobs(batch.sequences(), temperature());
        return new Prepared(number, batch, old, reference);
    }

    private Batch read(long number, List<GroupRow> rows) {
        List<Batch.Stored> stored = new ArrayList<>();
        int failed = 0;
        for (GroupRow row : rows) {
            if (row.state() == GroupRow.State.SAMPLED) {
                stored.add(new Batch.Stored(row, groups.samples(context.run(), row.number())));
            } else {
                failed++;
            }
        }
        return Batch.of(
                stored,
                failed,
                settings.rule(),
                settings.distinct(),
                tokens,
                number * settings.iterations(),
                (long) settings.maxStaleness() * settings.iterations());
    }

    private ServedPolicy.Policy serve() {
        return served.publish(learner.adapter(), learner.baseHash(), context.parent(), steps);
    }

    private double temperature() {
        return settings.rollout().temperature();
    }

    private boolean spent() {
        GroupStore.Spent spent = groups.spent(context.run());
        return spent.calls() >= context.budget().solverCalls()
                || spent.tokens() >= context.budget().tokens();
    }

    @Override
    public void save(Path folder) throws IOException {
        Prepared current = prepared;
        State state = current == null
                ? new State(steps, List.of(), List.of())
                : new State(steps, current.old(), current.reference());
        Files.writeString(folder.resolve(STATE), Json.write(state));
        learner.save(Files.createDirectory(folder.resolve(LEARNER)));
    }

    @Override
    public void restore(Path folder) throws IOException {
        State state = Json.read(Files.readString(folder.resolve(STATE)), State.class);
        learner.restore(folder.resolve(LEARNER));
        steps = state.steps();
        prepared = null;
        if (steps % settings.iterations() != 0) {
            long number = steps / settings.iterations();
            Batch batch = read(number, groups.ofBatch(context.run(), number));
            if (batch.members().size() != state.old().size()) {
                throw new IllegalStateException("the batch of step " + steps + " is not stored as it was");
            }
            prepared = new Prepared(number, batch, state.old(), state.reference());
        }
    }

    @Override
    public String baseHash() {
        return learner.baseHash();
    }

    @Override
    public LoraFiles adapter() {
        return learner.adapter();
    }

    @Override
    public void close() {
        boolean idle = sampler.idle();
        sampler.close();
        try {
            if (idle) {
                served.close();
            }
        } finally {
            // Also where the store is away: the memory of a model is more than a name.
            tokens.close();
            learner.close();
        }
    }
}
