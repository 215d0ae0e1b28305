package org.harnesslearning.trainer.rollout;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.decoder.Sequence;
import org.harnesslearning.trainer.distributed.Accumulated;
import org.harnesslearning.trainer.distributed.Learner;
import org.harnesslearning.trainer.distributed.SharedObjective;
import org.harnesslearning.trainer.distributed.Step;

/**
 * A model with one weight: a token has the log-probability {@code weight · (1 + id mod 7) / 10 − 1}. Objectives run on real
 * tensors, steps are plain gradient descent.
 */
@SuppressWarnings("try") // the scope frees what is made inside
public final class LearnerDouble implements Learner {
    private double weight;
    private double gradient;
    /** Batches that were trained on, as completions. */
    public final List<List<int[]>> trained = new ArrayList<>();

    public boolean closed;

    private static double slope(int token) {
        return (1 + token % 7) / 10.0;
    }

    private static float[] values(double weight, Sequence sequence) {
        float[] values = new float[sequence.completion().length];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (weight * slope(sequence.completion()[i]) - 1);
        }
        return values;
    }

    public double weight() {
        return weight;
    }

    @Override
    public List<float[]> logprobs(List<Sequence> batch, double temperature) {
        return batch.stream().map(sequence -> values(weight, sequence)).toList();
    }

    @Override
    public List<float[]> referenceLogprobs(List<Sequence> batch, double temperature) {
        return batch.stream().map(sequence -> values(0, sequence)).toList();
    }

    @Override
    public Accumulated accumulate(List<Sequence> batch, double temperature, SharedObjective objective) {
        trained.add(batch.stream().map(Sequence::completion).toList());
        int n = batch.stream()
                .mapToInt(sequence -> sequence.completion().length)
                .sum();
        float[] flat = new float[n];
        double[] slopes = new double[n];
        int at = 0;
        for (Sequence sequence : batch) {
            float[] values = values(weight, sequence);
            for (int i = 0; i < values.length; i++, at++) {
                flat[at] = values[i];
                slopes[at] = slope(sequence.completion()[i]);
            }
        }
        try (PointerScope scope = new PointerScope()) {
            Tensor logprobs = Tensor.create(flat).set_requires_grad(true);
            Tensor loss = objective.loss(0, batch.size(), logprobs, Tensor.create(new float[n]));
            loss.backward();
            java.nio.FloatBuffer by = logprobs.grad().contiguous().createBuffer();
            for (int i = 0; i < n; i++) {
                gradient += by.get(i) * slopes[i];
            }
            return new Accumulated(loss.item_double(), objective.statistics());
        }
    }

    @Override
    public Step step(double learningRate) {
        double norm = Math.abs(gradient);
        weight -= learningRate * gradient;
        gradient = 0;
        return new Step(norm, true);
    }

    @Override
    public LoraFiles adapter() {
        return new LoraFiles(
                new byte[] {'{', '}'}, ByteBuffer.allocate(8).putDouble(weight).array());
    }

    @Override
    public void load(LoraFiles files) {
        weight = ByteBuffer.wrap(files.weights()).getDouble();
        gradient = 0;
    }

    @Override
    public void save(Path folder) throws IOException {
        Files.write(folder.resolve("weight"), adapter().weights());
    }

    @Override
    public void restore(Path folder) throws IOException {
        load(new LoraFiles(new byte[0], Files.readAllBytes(folder.resolve("weight"))));
    }

    @Override
    public String baseHash() {
        return "base";
    }

    @Override
    public void close() {
        closed = true;
    }
}
