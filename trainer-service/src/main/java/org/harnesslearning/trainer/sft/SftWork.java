package org.harnesslearning.trainer.sft;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.sample.CorpusRow;
import org.harnesslearning.store.sample.CorpusStore;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.decoder.Sequence;
import org.harnesslearning.trainer.distributed.Accumulated;
import org.harnesslearning.trainer.distributed.Learner;
import org.harnesslearning.trainer.distributed.Step;
import org.harnesslearning.trainer.method.ModelTokens;
import org.harnesslearning.trainer.method.Trainee;
import org.harnesslearning.trainer.optimizer.LearningRate;
import org.harnesslearning.trainer.run.StepReport;
import org.harnesslearning.trainer.run.TrainingContext;
import org.harnesslearning.trainer.run.TrainingWork;
import org.jspecify.annotations.Nullable;

/**
 * Gathers the corpus, then trains on it: all edits once an epoch, in an order that follows from seed and epoch, so the
 * number of steps done is the whole place in the data. Ends after its epochs, or when the held-out loss has not become
 * better for a while; either way with the adapter that had the best one.
 */
final class SftWork implements TrainingWork {
    private static final String STATE = "sft.json";
    static final String LEARNER = "learner";
    static final String BEST = "best";

    private final TrainingContext context;
    private final SftSettings settings;
    private final Learner learner;
    private final ModelTokens tokens;
    private final CorpusBuilder builder;
    private final CorpusStore corpus;
    private @Nullable Data data;
    private long steps;
    private double bestLoss = Double.MAX_VALUE;
    private int worse;
    private boolean ended;
    private @Nullable LoraFiles best;

    SftWork(TrainingContext context, SftSettings settings, Trainee trainee, CorpusBuilder builder, CorpusStore corpus) {
        this.context = context;
        this.settings = settings;
        this.learner = trainee.learner();
        this.tokens = trainee.tokens();
        this.builder = builder;
        this.corpus = corpus;
    }

    /** The corpus in tokens, and the learning rate over its steps. */
    private record Data(List<Sequence> train, List<Sequence> heldOut, long batches, long total, LearningRate rate) {}

    /** What stands in a checkpoint beside the learner and the best adapter. */
    record State(long steps, double bestLoss, int worse, boolean ended, boolean hasBest) {}

    @Override
    public Optional<StepReport> step() {
        Map<String, Long> counts = new TreeMap<>();
        Data loaded = data;
        if (loaded == null) {
            loaded = load(counts);
            data = loaded;
        }
        if (ended || steps >= loaded.total()) {
            finish();
            return Optional.empty();
        }
        context.desk().pending("");
        List<Sequence> batch = batch(loaded);
        long trained = batch.stream()
                .mapToLong(sequence -> sequence.completion().length)
                .sum();
        long length = batch.stream().mapToLong(Sequence::length).sum();
        double learningRate = loaded.rate().at(steps);
        Instant start = context.clock().instant();
        Accumulated accumulated = learner.accumulate(batch, 1, new LikelihoodObjective(trained));
        Step step = learner.step(learningRate);
        double seconds = Duration.between(start, context.clock().instant()).toNanos() / 1e9;
        steps++;

        Map<String, Double> metrics = new TreeMap<>();
        if (Double.isFinite(accumulated.loss())) {
            metrics.put(StepReport.LOSS, accumulated.loss());
        }
        metrics.put(StepReport.LEARNING_RATE, learningRate);
        metrics.put("epoch", (double) steps / loaded.batches());
        if (seconds > 0) {
            metrics.put(StepReport.TOKENS_PER_SECOND, length / seconds);
        }
        if (step.applied()) {
            metrics.put(StepReport.GRAD_NORM, step.gradientNorm());
            counts.put("samples_trained", (long) batch.size());
            counts.put(StepReport.TOKENS, trained);
        } else {
            counts.put("steps_refused", 1L);
        }
        if (!loaded.heldOut().isEmpty() && (steps % settings.evaluateEvery() == 0 || steps == loaded.total())) {
            metrics.put(StepReport.HELD_OUT_LOSS, look(loaded));
        }
        if (ended || steps >= loaded.total()) {
            finish();
        }
        return Optional.of(new StepReport(steps, metrics, counts));
    }

    private Data load(Map<String, Long> counts) {
        List<String> sources = settings.corpus();
        if (sources.isEmpty()) {
            sources = context.desk().waiting(this::gather);
        }
        Map<String, Long> found = new TreeMap<>();
        sources.forEach(
                source -> corpus.counts(source).forEach((name, number) -> found.merge(name, number, Long::sum)));
        List<CorpusRow> good = good(sources);
        context.desk().event("corpus", found);
        if (steps == 0) {
            found.forEach((name, number) -> counts.put("corpus_" + name, number));
            counts.put("corpus_used", (long) good.size());
        }
        List<Sequence> train = sequences(good, CorpusRow.Fold.TRAIN);
        if (train.isEmpty() && settings.epochs() > 0) {
            throw new IllegalStateException("no edit of the corpus was accepted for training: " + found);
        }
        long batches = (train.size() + settings.batchSize() - 1L) / settings.batchSize();
        long total = Math.min(batches * settings.epochs(), context.budget().steps());
        return new Data(
                train,
                sequences(good, CorpusRow.Fold.HELD_OUT),
                batches,
                total,
                settings.optimizer().rate(Math.max(1, total)));
    }

    /** Nothing is learned in it, and what is gathered is stored as it comes. */
    private List<String> gather() {
        builder.build();
        return List.of(context.run());
    }

    /** Accepted edits, less those that are far from the best one of their state. */
    private List<CorpusRow> good(List<String> sources) {
        List<CorpusRow> rows = sources.stream()
                .flatMap(source ->
                        Stream.of(CorpusRow.Fold.values()).flatMap(fold -> corpus.accepted(source, fold).stream()))
                .toList();
        Map<String, Double> highest = new TreeMap<>();
        rows.forEach(row -> highest.merge(state(row), score(row), Math::max));
        return rows.stream()
                .filter(row -> score(row) >= settings.minShareOfBest() * highest.getOrDefault(state(row), 0.0))
                .toList();
    }

    private static String state(CorpusRow row) {
        return row.family() + " " + row.harness();
    }

    private static double score(CorpusRow row) {
        return row.score() == null ? 0 : row.score();
    }

    /** Tokens of this model, whichever model's corpus it is. */
    private List<Sequence> sequences(List<CorpusRow> rows, CorpusRow.Fold fold) {
        List<Sequence> sequences = new ArrayList<>();
        for (CorpusRow row : rows) {
            if (row.fold() != fold) {
                continue;
            }
            if (row.messages() != null && row.reply() != null) {
                sequences.add(new Sequence(
                        tokens.prompt(row.messages(), row.continued()),
                        tokens.reply(row.reply(), withoutEnd(row.completionTokenIds()))));
            }
        }
        return sequences;
    }

    private static @Nullable List<Integer> withoutEnd(@Nullable List<Integer> ids) {
        return ids == null ? null : ids.subList(0, ids.size() - 1);
    }

    private List<Sequence> batch(Data loaded) {
        long epoch = steps / loaded.batches();
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < loaded.train().size(); i++) {
            order.add(i);
        }
        Collections.shuffle(order, new Random(context.seed() * 0x9e3779b97f4a7c15L + epoch));
        int from = (int) (steps % loaded.batches()) * settings.batchSize();
        return order.subList(from, Math.min(from + settings.batchSize(), order.size())).stream()
                .map(loaded.train()::get)
                .toList();
    }

    /** Looks at the held-out loss, mean over tokens. */
    private double look(Data loaded) {
        double sum = 0;
        long count = 0;
        for (float[] logprobs : learner.logprobs(loaded.heldOut(), 1)) {
            for (float logprob : logprobs) {
                sum -= logprob;
                count++;
            }
        }
        double loss = sum / count;
        if (loss < bestLoss) {
            bestLoss = loss;
            worse = 0;
            best = learner.adapter();
        } else {
            worse++;
            ended = worse >= settings.patience();
        }
        return loss;
    }

    private void finish() {
        LoraFiles found = best;
        if (found != null) {
            learner.load(found);
            best = null;
        }
        ended = true;
    }

    @Override
    public void save(Path folder) throws IOException {
        LoraFiles found = best;
        Files.writeString(folder.resolve(STATE), Json.write(new State(steps, bestLoss, worse, ended, found != null)));
        learner.save(Files.createDirectory(folder.resolve(LEARNER)));
        if (found != null) {
            found.write(Files.createDirectory(folder.resolve(BEST)));
        }
    }

    @Override
    public void restore(Path folder) throws IOException {
        State state = Json.read(Files.readString(folder.resolve(STATE)), State.class);
        learner.restore(folder.resolve(LEARNER));
        steps = state.steps();
        bestLoss = state.bestLoss();
        worse = state.worse();
        ended = state.ended();
        best = state.hasBest() ? LoraFiles.read(folder.resolve(BEST)) : null;
    }

    @Override
    public LoraFiles adapter() {
        return learner.adapter();
    }

    @Override
    public String baseHash() {
        return learner.baseHash();
    }

    @Override
    public void close() {
        tokens.close();
        learner.close();
    }
}
