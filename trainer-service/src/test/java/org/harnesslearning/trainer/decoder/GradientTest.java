package org.harnesslearning.trainer.decoder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** The adapter's gradients: against PEFT's, against finite differences, and against themselves computed in other ways. */
class GradientTest {

    private static final DecoderSettings SETTINGS =
            DecoderSettings.onProcessor().withThreads(1);
    private static final LoraSettings LORA = LoraSettings.of(4, 8);
    private static final double TEMPERATURE = 0.7;
    private static final int[] LENGTHS = {9, 6, 3, 11, 14, 1, 1, 13, 6, 9};

    @TempDir
    private Path folder;

    private TrainableDecoder open(String model, LoraSettings lora, DecoderSettings settings) {
        TrainableDecoder decoder = TrainableDecoder.open(TinyModels.write(folder, model), lora, settings, 3);
        TinyModels.fillByFormula(decoder, 0.2f);
        return decoder;
    }

    private static List<Sequence> batch() {
        return TinyModels.sequences(96, LENGTHS);
    }

    private static float[] gradients(TrainableDecoder decoder, List<Sequence> batch, long dropoutSeed) {
        decoder.zeroGradients();
        decoder.accumulate(batch, TEMPERATURE, dropoutSeed, TinyModels.waves(batch));
        return TinyModels.get(decoder.gradients());
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama-linear-rope-biases", "llama-untied", "qwen2-tied", "qwen3-untied"})
    void loss_and_gradients_equal_those_of_peft(String model) {
        JsonNode file = TinyModels.golden("training.json");
        JsonNode golden = file.get("models").get(model);
        int stride = file.get("stride").asInt();
        List<float[]> seen = new ArrayList<>();
        try (TrainableDecoder decoder = open(model, LORA, SETTINGS)) {
            Objective waves = TinyModels.waves(batch());
            double loss = decoder.accumulate(batch(), TEMPERATURE, 0, (first, end, logprobs, entropies) -> {
                seen.add(TinyModels.get(logprobs));
                seen.add(TinyModels.get(entropies));
                return waves.loss(first, end, logprobs, entropies);
            });
            assertThat(loss).isCloseTo(golden.get("loss").asDouble(), within(1e-5));
            assertThat(TinyModels.maxDifference(seen.get(0), TinyModels.floats(golden.get("logprobs"))))
                    .isLessThan(2e-5);
            assertThat(TinyModels.maxDifference(seen.get(1), TinyModels.floats(golden.get("entropies"))))
                    .isLessThan(2e-5);
            assertThat(golden.get("gradients").size())
                    .isEqualTo(decoder.parameters().size());
            for (AdapterParameter parameter : decoder.parameters()) {
                float[] expected = TinyModels.floats(golden.get("gradients").get(parameter.name()));
                float[] all = TinyModels.get(parameter.gradient());
                float[] actual = new float[expected.length];
                for (int i = 0; i < actual.length; i++) {
                    actual[i] = all[i * stride];
                }
                assertThat(TinyModels.maxDifference(actual, expected))
                        .as(parameter.name())
                        .isLessThan(1e-5);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama-linear-rope-biases", "qwen2-untied", "qwen3-tied"})
    void gradients_equal_central_finite_differences(String model) {
        List<Sequence> batch = TinyModels.sequences(96, 4, 5, 7, 2, 1, 6);
        Path checkpoint = TinyModels.write(folder, model);
        double step = 1e-5;
        try (TrainableDecoder decoder = TrainableDecoder.inDoublePrecision(checkpoint, LORA, SETTINGS, 3)) {
            TinyModels.fillByFormula(decoder, 0.2f);
            Objective waves = TinyModels.waves(batch);
            decoder.accumulate(batch, TEMPERATURE, 0, waves);
            int number = 0;
            for (AdapterParameter parameter : decoder.parameters()) {
                for (int probe = 0; probe < 2; probe++) {
                    long at = Math.floorMod(7919L * ++number, parameter.value().numel());
                    double gradient = value(parameter.gradient(), at);
                    double before = value(parameter.value(), at);
                    put(parameter.value(), at, before + step);
                    double above = decoder.accumulate(batch, TEMPERATURE, 0, lossOnly(waves));
                    put(parameter.value(), at, before - step);
                    double below = decoder.accumulate(batch, TEMPERATURE, 0, lossOnly(waves));
                    put(parameter.value(), at, before);
                    assertThat((above - below) / (2 * step))
                            .as("%s[%d]", parameter.name(), at)
                            .isCloseTo(gradient, within(1e-9 + 1e-6 * Math.abs(gradient)));
                }
            }
        }
    }

    /** The same value, unconnected with what it was computed from. */
    private static Objective lossOnly(Objective objective) {
        return (first, end, logprobs, entropies) ->
                objective.loss(first, end, logprobs, entropies).detach();
    }

    @SuppressWarnings("try")
    private static double value(Tensor tensor, long at) {
        try (PointerScope scope = new PointerScope()) {
            return tensor.view(tensor.numel()).select(0, at).item_double();
        }
    }

    @SuppressWarnings("try")
    private static void put(Tensor tensor, long at, double value) {
        try (PointerScope scope = new PointerScope()) {
            tensor.view(tensor.numel()).select(0, at).fill_(new Scalar(value));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama-linear-rope-biases", "qwen3-untied"})
    void checkpointing_changes_no_bit_also_with_dropout(String model) {
        LoraSettings lora = LORA.withDropout(0.3);
        try (TrainableDecoder with = open(model, lora, SETTINGS.withGradientCheckpointing(true));
                TrainableDecoder without = open(model, lora, SETTINGS.withGradientCheckpointing(false))) {
            float[] gradients = gradients(with, batch(), 11);
            assertThat(gradients).isEqualTo(gradients(without, batch(), 11));
            assertThat(gradients).isNotEqualTo(gradients(with, batch(), 12));
        }
    }

    @Test
    void micro_batches_add_up_to_the_whole_batch_and_see_the_sequences_in_order() {
        List<String> ranges = new ArrayList<>();
        try (TrainableDecoder whole = open("qwen2-tied", LORA, SETTINGS);
                TrainableDecoder parts = open("qwen2-tied", LORA, SETTINGS.withTokensPerMicroBatch(20))) {
            float[] expected = gradients(whole, batch(), 0);
            Objective waves = TinyModels.waves(batch());
            double loss = parts.accumulate(batch(), TEMPERATURE, 0, (first, end, logprobs, entropies) -> {
                ranges.add(first + "-" + end + ":" + logprobs.numel());
                return waves.loss(first, end, logprobs, entropies);
            });
            assertThat(ranges).containsExactly("0-1:6", "1-2:11", "2-3:1", "3-4:13", "4-5:9");
            assertThat(loss).isCloseTo(whole.accumulate(batch(), TEMPERATURE, 0, waves), within(1e-6));
            assertThat(TinyModels.maxDifference(TinyModels.get(parts.gradients()), expected))
                    .isLessThan(2e-6);
        }
    }

    @Test
    void a_sequence_is_scored_alike_in_a_batch_and_alone() {
        try (TrainableDecoder decoder = open("llama-tied-llama3-rope", LORA, SETTINGS)) {
            List<float[]> together = decoder.logprobs(batch(), TEMPERATURE);
            List<float[]> alone = new ArrayList<>();
            for (Sequence sequence : batch()) {
                alone.addAll(decoder.logprobs(List.of(sequence), TEMPERATURE));
            }
            assertThat(TinyModels.maxDifference(together, alone)).isLessThan(1e-5);
        }
    }

    @Test
    void dropout_acts_in_training_only_and_follows_from_its_seed() {
        try (TrainableDecoder decoder = open("llama-untied", LORA.withDropout(0.5), SETTINGS);
                TrainableDecoder plain = open("llama-untied", LORA, SETTINGS)) {
            assertThat(TinyModels.maxDifference(decoder.logprobs(batch(), 1), plain.logprobs(batch(), 1)))
                    .isZero();
            float[] once = gradients(decoder, batch(), 5);
            assertThat(gradients(decoder, batch(), 5)).isEqualTo(once);
            assertThat(gradients(decoder, batch(), 6)).isNotEqualTo(once);
            assertThat(once).isNotEqualTo(gradients(plain, batch(), 5));
        }
    }

    @Test
    void two_runs_in_one_process_drop_what_each_drops_alone() throws Exception {
        LoraSettings lora = LORA.withDropout(0.5);
        try (TrainableDecoder one = open("llama-untied", lora, SETTINGS);
                TrainableDecoder other = open("qwen2-tied", lora, SETTINGS);
                ExecutorService threads = Executors.newFixedThreadPool(2)) {
            List<float[]> alone = seeds(one);
            List<float[]> otherAlone = seeds(other);
            Future<List<float[]>> beside = threads.submit(() -> seeds(one));
            Future<List<float[]>> otherBeside = threads.submit(() -> seeds(other));
            assertThat(beside.get()).usingRecursiveComparison().isEqualTo(alone);
            assertThat(otherBeside.get()).usingRecursiveComparison().isEqualTo(otherAlone);
        }
    }

    /** The gradients of a batch for some dropout seeds. */
    private List<float[]> seeds(TrainableDecoder decoder) {
        List<float[]> all = new ArrayList<>();
        for (int seed = 0; seed < 60; seed++) {
            all.add(gradients(decoder, batch(), seed));
        }
        return all;
    }

    @Test
    void dropped_gradients_are_the_plain_ones_in_the_mean() {
        try (TrainableDecoder decoder = open("llama-untied", LORA.withDropout(0.1), SETTINGS);
                TrainableDecoder plain = open("llama-untied", LORA, SETTINGS)) {
            float[] expected = gradients(plain, batch(), 0);
            double[] sum = new double[expected.length];
            int rounds = 40;
            for (int seed = 0; seed < rounds; seed++) {
                float[] one = gradients(decoder, batch(), seed);
                for (int i = 0; i < sum.length; i++) {
                    sum[i] += one[i] / rounds;
                }
            }
            assertThat(cosine(sum, expected)).isGreaterThan(0.97);
        }
    }

    @Test
    void bfloat16_gives_nearly_the_same_gradients() {
        try (TrainableDecoder exact = open("qwen3-untied", LORA, SETTINGS);
                TrainableDecoder rounded = open("qwen3-untied", LORA, SETTINGS.withPrecision(Precision.BF16))) {
            float[] expected = gradients(exact, batch(), 0);
            float[] actual = gradients(rounded, batch(), 0);
            double[] wide = new double[actual.length];
            for (int i = 0; i < wide.length; i++) {
                wide[i] = actual[i];
            }
            assertThat(cosine(wide, expected)).isGreaterThan(0.995);
            assertThat(TinyModels.maxDifference(
                            exact.logprobs(batch(), TEMPERATURE), rounded.logprobs(batch(), TEMPERATURE)))
                    .isBetween(1e-6, 0.2);
        }
    }

    private static double cosine(double[] first, float[] second) {
        double product = 0;
        double firstSquares = 0;
        double secondSquares = 0;
        for (int i = 0; i < first.length; i++) {
            product += first[i] * second[i];
            firstSquares += first[i] * first[i];
            secondSquares += (double) second[i] * second[i];
        }
        return product / Math.sqrt(firstSquares * secondSquares);
    }

    @Test
    void some_target_modules_have_the_gradients_that_they_have_among_all() {
        LoraSettings few = LORA.withTargetModules(java.util.Set.of("v_proj", "up_proj"));
        try (TrainableDecoder decoder = open("qwen2-tied", few, SETTINGS);
                TrainableDecoder all = open("qwen2-tied", LORA, SETTINGS)) {
            assertThat(decoder.parameters()).hasSize(2 * 2 * 2);
            for (AdapterParameter parameter : all.parameters()) {
                if (!parameter.name().contains("v_proj") && !parameter.name().contains("up_proj")) {
                    TinyModels.set(
                            parameter.value(), new float[(int) parameter.value().numel()]);
                }
            }
            gradients(decoder, batch(), 0);
            gradients(all, batch(), 0);
            for (AdapterParameter parameter : decoder.parameters()) {
                AdapterParameter same = all.parameters().stream()
                        .filter(other -> other.name().equals(parameter.name()))
                        .findFirst()
                        .orElseThrow();
                assertThat(TinyModels.maxDifference(
                                TinyModels.get(parameter.gradient()), TinyModels.get(same.gradient())))
                        .isLessThan(1e-6);
            }
        }
    }
}
