package org.harnesslearning.trainer.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.trainer.decoder.DecoderSettings;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.decoder.LoraSettings;
import org.harnesslearning.trainer.decoder.Sequence;
import org.harnesslearning.trainer.decoder.TinyModels;
import org.harnesslearning.trainer.decoder.TrainableDecoder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AdamWTest {

    private static final DecoderSettings SETTINGS =
            DecoderSettings.onProcessor().withThreads(1);
    private static final LoraSettings LORA = LoraSettings.of(3, 6).withDropout(0.1);

    @TempDir
    private Path folder;

    private TrainableDecoder open(long seed) {
        return TrainableDecoder.open(TinyModels.write(folder, "qwen3-untied"), LORA, SETTINGS, seed);
    }

    private static float[] gradient(int size, int step, float scale) {
        float[] values = TinyModels.weights("gradient " + step, size);
        for (int i = 0; i < size; i++) {
            values[i] *= scale;
        }
        return values;
    }

    @Test
    void steps_equal_the_published_formula_with_clipping_and_decay() {
        AdamW.Settings settings = new AdamW.Settings(0.8, 0.95, 1e-6, 0.3, 2);
        try (TrainableDecoder decoder = open(1);
                AdamW optimiser = new AdamW(decoder, settings)) {
            TinyModels.fillByFormula(decoder, 0.2f);
            int size = (int) decoder.values().numel();
            float[] start = TinyModels.get(decoder.values());
            double[] weights = new double[size];
            for (int i = 0; i < size; i++) {
                weights[i] = start[i];
            }
            double[] mean = new double[size];
            double[] square = new double[size];
            for (int step = 1; step <= 4; step++) {
                // The first two are clipped, the others are not.
                float[] gradient = gradient(size, step, step <= 2 ? 1 : 0.01f);
                TinyModels.set(decoder.gradients(), gradient);
                double norm = 0;
                for (float g : gradient) {
                    norm += (double) g * g;
                }
                norm = Math.sqrt(norm);
                double rate = 0.01 * step;
                assertThat(optimiser.step(rate)).isCloseTo(norm, within(1e-6 * norm));
                assertThat(norm > 2).isEqualTo(step <= 2);
                for (int i = 0; i < size; i++) {
                    double g = gradient[i] * Math.min(1, 2 / norm);
                    mean[i] = 0.8 * mean[i] + 0.2 * g;
                    square[i] = 0.95 * square[i] + 0.05 * g * g;
                    weights[i] -= rate * 0.3 * weights[i];
                    weights[i] -= rate
                            * (mean[i] / (1 - Math.pow(0.8, step)))
                            / (Math.sqrt(square[i] / (1 - Math.pow(0.95, step))) + 1e-6);
                }
                float[] actual = TinyModels.get(decoder.values());
                for (int i = 0; i < size; i++) {
                    assertThat((double) actual[i]).isCloseTo(weights[i], within(2e-6));
                }
                assertThat(TinyModels.get(decoder.gradients()))
                        .as("gradients stay until they are zeroed")
                        .isEqualTo(gradient);
            }
            assertThat(optimiser.steps()).isEqualTo(4);
            optimiser.zeroGradients();
            assertThat(TinyModels.get(decoder.gradients())).containsOnly(0);
        }
    }

    @Test
    void gradients_that_are_no_numbers_are_refused_and_change_nothing() throws IOException {
        try (TrainableDecoder decoder = open(1);
                AdamW optimiser = new AdamW(decoder, AdamW.Settings.DEFAULTS)) {
            int size = (int) decoder.values().numel();
            TinyModels.set(decoder.gradients(), gradient(size, 0, 1));
            optimiser.step(0.1);
            optimiser.save(folder.resolve("before.safetensors"));
            float[] before = TinyModels.get(decoder.values());
            for (float bad : new float[] {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY}) {
                float[] gradient = gradient(size, 1, 1);
                gradient[size - 1] = bad;
                TinyModels.set(decoder.gradients(), gradient);
                assertThatThrownBy(() -> optimiser.step(0.1))
                        .isInstanceOfSatisfying(
                                NonFiniteGradientException.class,
                                refusal -> assertThat(refusal.parameters())
                                        .containsExactly(
                                                decoder.parameters().getLast().name()))
                        .hasMessageContaining("nothing is changed");
            }
            assertThat(TinyModels.get(decoder.values())).isEqualTo(before);
            optimiser.save(folder.resolve("after.safetensors"));
            assertThat(folder.resolve("after.safetensors"))
                    .hasSameBinaryContentAs(folder.resolve("before.safetensors"));
            // Large but finite gradients are no fault: their squares would overflow fp32.
            float[] large = gradient(size, 2, 1e30f);
            TinyModels.set(decoder.gradients(), large);
            assertThat(optimiser.step(0.1)).isGreaterThan(1e29).isFinite();
        }
    }

    @Test
    void the_step_after_saving_and_restoring_is_the_same_bit_for_bit() throws IOException {
        List<Sequence> batch = TinyModels.sequences(96, 9, 6, 3, 11, 1, 13);
        LearningRate rate = new LearningRate(LearningRate.Schedule.COSINE, 0.02, 0, 2, 10);
        Path state = folder.resolve("optimiser.safetensors");
        Path adapter = folder.resolve("adapter");
        float[] expected;
        double expectedNorm;
        try (TrainableDecoder decoder = open(1);
                AdamW optimiser = new AdamW(decoder, AdamW.Settings.DEFAULTS)) {
            for (int step = 0; step < 3; step++) {
                train(decoder, optimiser, batch, rate);
            }
            decoder.adapter().write(adapter);
            optimiser.save(state);
            expectedNorm = train(decoder, optimiser, batch, rate);
            expected = TinyModels.get(decoder.values());
        }
        try (TrainableDecoder decoder = open(99);
                AdamW optimiser = new AdamW(decoder, AdamW.Settings.DEFAULTS)) {
            decoder.load(LoraFiles.read(adapter));
            optimiser.load(state);
            assertThat(optimiser.steps()).isEqualTo(3);
            assertThat(train(decoder, optimiser, batch, rate)).isEqualTo(expectedNorm);
            assertThat(TinyModels.get(decoder.values())).isEqualTo(expected);
        }
    }

    private static double train(TrainableDecoder decoder, AdamW optimiser, List<Sequence> batch, LearningRate rate) {
        optimiser.zeroGradients();
        decoder.accumulate(batch, 0.9, 1000 + optimiser.steps(), TinyModels.waves(batch));
        return optimiser.step(rate.at(optimiser.steps()));
    }

    @Test
    void a_damaged_state_or_one_of_another_adapter_is_refused() throws IOException {
        Path state = folder.resolve("optimiser.safetensors");
        LoraSettings other = LORA.withTargetModules(java.util.Set.of("q_proj"));
        try (TrainableDecoder decoder = open(1);
                TrainableDecoder fewer =
                        TrainableDecoder.open(TinyModels.write(folder, "qwen3-untied"), other, SETTINGS, 1);
                AdamW optimiser = new AdamW(decoder, AdamW.Settings.DEFAULTS);
                AdamW otherOptimiser = new AdamW(fewer, AdamW.Settings.DEFAULTS)) {
            otherOptimiser.save(state);
            assertThatThrownBy(() -> optimiser.load(state))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("another form");
            optimiser.save(state);
            byte[] bytes = Files.readAllBytes(state);
            Files.write(state, java.util.Arrays.copyOf(bytes, bytes.length - 100));
            assertThatThrownBy(() -> optimiser.load(state)).hasMessageContaining("truncated");
            assertThat(optimiser.steps()).isZero();
        }
    }

    @Test
    void training_makes_wanted_completions_likelier() {
        List<Sequence> batch = TinyModels.sequences(96, 9, 6, 3, 11);
        int tokens = 17;
        try (TrainableDecoder decoder = open(1);
                AdamW optimiser = new AdamW(decoder, AdamW.Settings.DEFAULTS)) {
            double first = Double.NaN;
            double loss = Double.NaN;
            for (int step = 0; step < 60; step++) {
                optimiser.zeroGradients();
                loss = decoder.accumulate(
                        batch,
                        1,
                        step,
                        (from, end, logprobs, entropies) ->
                                logprobs.sum().div(new org.bytedeco.pytorch.Scalar(-(double) tokens)));
                optimiser.step(0.02);
                first = step == 0 ? loss : first;
            }
            assertThat(loss).isLessThan(first / 4);
        }
    }
}
