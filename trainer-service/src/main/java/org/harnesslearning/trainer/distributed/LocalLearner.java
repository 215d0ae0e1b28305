package org.harnesslearning.trainer.distributed;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.decoder.Sequence;
import org.harnesslearning.trainer.decoder.TrainableDecoder;
import org.harnesslearning.trainer.optimizer.AdamW;
import org.harnesslearning.trainer.optimizer.NonFiniteGradientException;

/** One rank's part, which is the whole where there is one rank. */
final class LocalLearner implements Learner {
    private static final String OPTIMIZER = "optimizer.safetensors";
    private static final String COUNTERS = "learner.json";

    /** How far the training is: dropout depends on it. */
    record Counters(long steps, long batches) {}

    private final LearnerSettings settings;
    private final ProcessGroup group;
    private final TrainableDecoder decoder;
    private AdamW optimizer;
    private Counters counters = new Counters(0, 0);

    LocalLearner(LearnerSettings settings, ProcessGroup group) {
        this.settings = settings;
        this.group = group;
        this.decoder =
                TrainableDecoder.open(settings.checkpoint(), settings.lora(), settings.decoder(), settings.seed());
        this.optimizer = new AdamW(decoder, settings.optimizer());
    }

    @Override
    public List<float[]> logprobs(List<Sequence> batch, double temperature) {
        return batch.isEmpty() ? List.of() : decoder.logprobs(batch, temperature);
    }

    @Override
    public List<float[]> referenceLogprobs(List<Sequence> batch, double temperature) {
        return batch.isEmpty() ? List.of() : decoder.referenceLogprobs(batch, temperature);
    }

    @Override
    public Accumulated accumulate(List<Sequence> batch, double temperature, SharedObjective objective) {
        long place = counters.batches() * group.size() + group.rank();
        counters = new Counters(counters.steps(), counters.batches() + 1);
        double loss =
                batch.isEmpty() ? 0 : decoder.accumulate(batch, temperature, mix(settings.seed(), place), objective);
        return new Accumulated(loss, objective.statistics());
    }

    @Override
    public Step step(double learningRate) {
        group.sum(List.of(decoder.gradients()));
        Step step;
        try {
            step = new Step(optimizer.step(learningRate), true);
        } catch (NonFiniteGradientException e) {
            // All ranks hold the same sum, so all of them refuse.
            step = new Step(0, false);
        }
        optimizer.zeroGradients();
        counters = new Counters(counters.steps() + 1, counters.batches());
        return step;
    }

    @Override
    public LoraFiles adapter() {
        return decoder.adapter();
    }

    @Override
    public void load(LoraFiles files) {
        decoder.load(files);
        optimizer.close();
        optimizer = new AdamW(decoder, settings.optimizer());
        optimizer.zeroGradients();
    }

    @Override
    public void save(Path folder) throws IOException {
        decoder.adapter().write(folder);
        optimizer.save(folder.resolve(OPTIMIZER));
        Files.writeString(folder.resolve(COUNTERS), Json.write(counters));
    }

    @Override
    public void restore(Path folder) throws IOException {
        load(LoraFiles.read(folder));
        optimizer.load(folder.resolve(OPTIMIZER));
        counters = Json.read(Files.readString(folder.resolve(COUNTERS)), Counters.class);
    }

    @Override
    public String baseHash() {
        return decoder.baseHash();
    }

    @Override
    public void close() {
        optimizer.close();
        decoder.close();
        group.close();
    }

    /** A well-mixed seed from two numbers (SplitMix64). */
    private static long mix(long seed, long place) {
        long z = seed + place * 0x9E3779B97F4A7C15L;
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }
}
