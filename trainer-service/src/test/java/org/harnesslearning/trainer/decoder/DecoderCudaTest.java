package org.harnesslearning.trainer.decoder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Scalar;
import org.harnesslearning.llm.cuda.CudaDevice;
import org.harnesslearning.trainer.optimizer.AdamW;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A GPU trains as the processor does. Skipped where there is no GPU; needs the Maven profile {@code gpu}. */
@Tag("cuda")
@EnabledIf(value = "gpuIsHere", disabledReason = "no NVIDIA GPU with its driver is here")
class DecoderCudaTest {

    private static final DecoderSettings PROCESSOR =
            DecoderSettings.onProcessor().withThreads(1);
    private static final DecoderSettings GPU = DecoderSettings.onGpu(0).withThreads(1);
    private static final LoraSettings LORA = LoraSettings.of(4, 8);
    private static final double TEMPERATURE = 0.7;

    @TempDir
    private Path folder;

    /** Whether the driver shows a GPU. */
    public static boolean gpuIsHere() {
        return CudaDevice.count() > 0;
    }

    private static List<Sequence> batch() {
        return TinyModels.sequences(96, 9, 6, 3, 11, 14, 1, 1, 13, 6, 9);
    }

    private TrainableDecoder open(String model, LoraSettings lora, DecoderSettings settings) {
        TrainableDecoder decoder = TrainableDecoder.open(TinyModels.write(folder, model), lora, settings, 3);
        TinyModels.fillByFormula(decoder, 0.2f);
        return decoder;
    }

    /** What one backward pass gave. */
    private record Pass(double loss, float[] gradients) {}

    private static Pass pass(TrainableDecoder decoder) {
        decoder.zeroGradients();
        double loss = decoder.accumulate(batch(), TEMPERATURE, 7, TinyModels.waves(batch()));
        return new Pass(loss, TinyModels.get(decoder.gradients()));
    }

    private static double norm(float[] values) {
        double squares = 0;
        for (float value : values) {
            squares += (double) value * value;
        }
        return Math.sqrt(squares);
    }

    /** Distance of two vectors in units of the expected one's length. */
    private static double distance(float[] actual, float[] expected) {
        assertThat(actual).hasSameSizeAs(expected);
        float[] difference = new float[actual.length];
        for (int i = 0; i < difference.length; i++) {
            difference[i] = actual[i] - expected[i];
        }
        double distance = norm(difference) / norm(expected);
        assertThat(distance).isNotNaN();
        return distance;
    }

    @ParameterizedTest
    @CsvSource({
        "llama-untied, FP32, 1e-4, 1e-4",
        "llama-tied-llama3-rope, FP32, 1e-4, 1e-4",
        "llama-linear-rope-biases, FP32, 1e-4, 1e-4",
        "qwen2-tied, FP32, 1e-4, 1e-4",
        "qwen2-untied, FP32, 1e-4, 1e-4",
        "qwen3-tied, FP32, 1e-4, 1e-4",
        "qwen3-untied, FP32, 1e-4, 1e-4",
        "llama-untied, BF16, 0.05, 0.1",
        "llama-linear-rope-biases, BF16, 0.05, 0.1",
        "qwen2-tied, BF16, 0.05, 0.1",
        "qwen3-untied, BF16, 0.05, 0.1"
    })
    void logits_loss_and_gradients_equal_those_of_the_processor(
            String model, Precision precision, double mostOfForward, double mostOfBackward) {
        try (TrainableDecoder processor = open(model, LORA, PROCESSOR);
                TrainableDecoder gpu = open(model, LORA, GPU.withPrecision(precision))) {
            int[] prompt = batch().getFirst().prompt();
            for (boolean adapted : new boolean[] {false, true}) {
                assertThat(distance(gpu.logits(prompt, adapted), processor.logits(prompt, adapted)))
                        .isLessThan(mostOfForward);
            }
            List<float[]> expected = processor.logprobs(batch(), TEMPERATURE);
            List<float[]> actual = gpu.logprobs(batch(), TEMPERATURE);
            for (int i = 0; i < expected.size(); i++) {
                assertThat(distance(actual.get(i), expected.get(i)))
                        .as("log-probabilities of sequence %d", i)
                        .isLessThan(mostOfForward);
            }
            Pass onProcessor = pass(processor);
            Pass onGpu = pass(gpu);
            assertThat(onGpu.loss()).isCloseTo(onProcessor.loss(), within(mostOfForward));
            assertThat(distance(onGpu.gradients(), onProcessor.gradients())).isLessThan(mostOfBackward);
            System.out.printf(
                    "%s in %s on a GPU: logits off by %.1e, loss by %.1e, gradients by %.1e of their norms%n",
                    model,
                    precision,
                    distance(gpu.logits(prompt, true), processor.logits(prompt, true)),
                    Math.abs(onGpu.loss() - onProcessor.loss()),
                    distance(onGpu.gradients(), onProcessor.gradients()));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama-linear-rope-biases", "qwen3-untied"})
    void checkpointing_drops_in_the_backward_pass_what_it_dropped_forwards(String model) {
        LoraSettings lora = LORA.withDropout(0.3);
        DecoderSettings exact = GPU.withPrecision(Precision.FP32);
        try (TrainableDecoder with = open(model, lora, exact.withGradientCheckpointing(true));
                TrainableDecoder without = open(model, lora, exact.withGradientCheckpointing(false));
                TrainableDecoder plain = open(model, LORA, exact)) {
            assertThat(distance(pass(with).gradients(), pass(without).gradients()))
                    .isLessThan(1e-5);
            assertThat(distance(pass(with).gradients(), pass(plain).gradients()))
                    .as("dropout has an effect")
                    .isGreaterThan(0.05);
        }
    }

    /** Mean negative log-likelihood of the completions. */
    private static double descend(TrainableDecoder decoder, List<Sequence> batch) {
        int tokens = batch.stream().mapToInt(one -> one.completion().length).sum();
        return decoder.accumulate(
                batch, 1, 0, (first, end, logprobs, entropies) -> logprobs.sum().mul(new Scalar(-1.0 / tokens)));
    }

    @ParameterizedTest
    @EnumSource(Precision.class)
    void each_of_three_steps_lowers_the_loss(Precision precision) {
        List<Sequence> batch = batch();
        List<Double> losses = new ArrayList<>();
        try (TrainableDecoder decoder = TrainableDecoder.open(
                        TinyModels.write(folder, "qwen3-untied"), LORA, GPU.withPrecision(precision), 3);
                AdamW optimizer = new AdamW(decoder, AdamW.Settings.DEFAULTS)) {
            for (int step = 0; step < 3; step++) {
                optimizer.zeroGradients();
                losses.add(descend(decoder, batch));
                assertThat(optimizer.step(5e-3)).isPositive();
            }
            optimizer.zeroGradients();
            losses.add(descend(decoder, batch));
        }
        System.out.printf("losses in %s on a GPU: %s%n", precision, losses);
        for (int i = 1; i < losses.size(); i++) {
            assertThat(losses.get(i)).isLessThan(losses.get(i - 1));
        }
    }

    @Test
    void an_adapter_and_its_optimiser_move_between_gpu_and_processor_bit_for_bit() throws IOException {
        Path state = folder.resolve("optimizer.safetensors");
        DecoderSettings exact = GPU.withPrecision(Precision.FP32);
        try (TrainableDecoder gpu = open("qwen2-untied", LORA, exact);
                AdamW onGpu = new AdamW(gpu, AdamW.Settings.DEFAULTS);
                TrainableDecoder processor = open("qwen2-untied", LORA, PROCESSOR);
                AdamW onProcessor = new AdamW(processor, AdamW.Settings.DEFAULTS)) {
            descend(gpu, batch());
            onGpu.step(1e-3);
            onGpu.save(state);
            processor.load(gpu.adapter());
            onProcessor.load(state);
            assertThat(TinyModels.get(processor.values())).isEqualTo(TinyModels.get(gpu.values()));

            onGpu.zeroGradients();
            float[] before = TinyModels.get(gpu.values());
            descend(gpu, batch());
            descend(processor, batch());
            onGpu.step(1e-3);
            onProcessor.step(1e-3);
            float[] after = TinyModels.get(gpu.values());
            assertThat(TinyModels.maxDifference(TinyModels.get(processor.values()), after))
                    .as("the next step is the same one")
                    .isLessThan(1e-5);
            assertThat(TinyModels.maxDifference(before, after)).isGreaterThan(1e-4);
        }
    }

    @Test
    void weights_that_are_no_numbers_are_named() {
        try (TrainableDecoder gpu = open("llama-untied", LORA, GPU)) {
            AdapterParameter broken = gpu.parameters().get(2);
            float[] values = TinyModels.get(broken.value());
            values[1] = Float.NaN;
            TinyModels.set(broken.value(), values);
            assertThatThrownBy(() -> pass(gpu))
                    .isInstanceOf(NonFiniteException.class)
                    .hasMessageContaining(broken.name());
        }
    }
}
