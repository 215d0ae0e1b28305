package org.harnesslearning.trainer.decoder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Scalar;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.Safetensors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is refused, and with which words. */
class FaultTest {

    private static final DecoderSettings SETTINGS =
            DecoderSettings.onProcessor().withThreads(1);
    private static final LoraSettings LORA = LoraSettings.of(2, 4);

    @TempDir
    private Path folder;

    private TrainableDecoder open(LoraSettings lora) {
        return TrainableDecoder.open(TinyModels.write(folder, "qwen2-untied"), lora, SETTINGS, 1);
    }

    @Test
    void sequences_that_do_not_fit_the_model_are_refused() {
        try (TrainableDecoder decoder = open(LORA)) {
            assertThatThrownBy(() -> decoder.logprobs(
                            List.of(sequence(5, 3), new Sequence(new int[] {1, 96}, new int[] {2})), 1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("token 96 of sequence 1 is outside the vocabulary of 96");
            assertThatThrownBy(() -> decoder.logprobs(List.of(new Sequence(new int[] {1}, new int[] {-1})), 1))
                    .hasMessageContaining("token -1 of sequence 0");
            assertThatThrownBy(() -> decoder.logprobs(List.of(sequence(100, 29)), 1))
                    .hasMessage("sequence 0 has 129 tokens, the context has 128");
            assertThat(decoder.logprobs(List.of(sequence(100, 28)), 1).getFirst())
                    .hasSize(28);
            assertThatThrownBy(() -> decoder.logprobs(List.of(sequence(5, 3)), 0))
                    .hasMessageContaining("temperature");
            assertThatThrownBy(() -> new Sequence(new int[0], new int[] {1})).hasMessageContaining("0 prompt tokens");
        }
    }

    private static Sequence sequence(int prompt, int completion) {
        return TinyModels.sequences(96, prompt, completion).getFirst();
    }

    @Test
    void a_weight_of_the_base_that_is_no_number_is_named() throws IOException {
        Path checkpoint = TinyModels.write(folder, "qwen2-untied");
        Path file = checkpoint.resolve("part-0.safetensors");
        byte[] bytes = Files.readAllBytes(file);
        byte[] nan = new byte[4];
        MemorySegment.ofArray(nan).set(ValueLayout.JAVA_FLOAT_UNALIGNED, 0, Float.NaN);
        System.arraycopy(nan, 0, bytes, bytes.length - 4, 4);
        Files.write(file, bytes, StandardOpenOption.TRUNCATE_EXISTING);
        assertThatThrownBy(() -> TrainableDecoder.open(checkpoint, LORA, SETTINGS, 1))
                .isInstanceOf(NonFiniteException.class)
                .hasMessageContaining("has weights that are no numbers");
    }

    @Test
    void an_adapter_weight_that_is_no_number_is_noticed_before_gradients_change() {
        try (TrainableDecoder decoder = open(LORA)) {
            TinyModels.fillByFormula(decoder, 0.2f);
            decoder.parameters().getFirst().value().fill_(new Scalar(Float.NaN));
            assertThatThrownBy(() -> decoder.logprobs(List.of(sequence(5, 3)), 1))
                    .isInstanceOf(NonFiniteException.class)
                    .hasMessage("weights of the adapter are no numbers: "
                            + decoder.parameters().getFirst().name());
            assertThatThrownBy(() -> decoder.accumulate(
                            List.of(sequence(5, 3)), 1, 0, (first, end, logprobs, entropies) -> logprobs.sum()))
                    .isInstanceOf(NonFiniteException.class);
            assertThat(TinyModels.get(decoder.gradients())).containsOnly(0);
            assertThat(decoder.referenceLogprobs(List.of(sequence(5, 3)), 1)).hasSize(1);
            TinyModels.fillByFormula(decoder, 1e30f);
            assertThatThrownBy(() -> decoder.logprobs(List.of(sequence(5, 3)), 1))
                    .isInstanceOf(NonFiniteException.class)
                    .hasMessageContaining("completion token 0 of sequence 0");
        }
    }

    @Test
    void a_loss_that_is_no_number_is_refused_and_adds_nothing() {
        try (TrainableDecoder decoder = open(LORA)) {
            assertThatThrownBy(() -> decoder.accumulate(
                            List.of(sequence(5, 3)),
                            1,
                            0,
                            (first, end, logprobs, entropies) -> logprobs.sum().log()))
                    .isInstanceOf(NonFiniteException.class)
                    .hasMessageContaining("the loss of the sequences 0 to 0 is NaN");
            assertThat(TinyModels.get(decoder.gradients())).containsOnly(0);
        }
    }

    @Test
    void a_loss_that_depends_on_nothing_has_no_gradient() {
        try (TrainableDecoder decoder = open(LORA)) {
            double loss = decoder.accumulate(
                    List.of(sequence(5, 3)),
                    1,
                    0,
                    (first, end, logprobs, entropies) -> logprobs.detach().sum());
            assertThat(loss).isNegative();
            assertThat(TinyModels.get(decoder.gradients())).containsOnly(0);
        }
    }

    @Test
    void adapters_that_do_not_fit_are_refused_and_change_nothing() throws IOException {
        Path other = TinyModels.write(folder, "qwen2-tied");
        try (TrainableDecoder decoder = open(LORA);
                TrainableDecoder otherBase = TrainableDecoder.open(other, LORA, SETTINGS, 2);
                TrainableDecoder otherRank = open(LoraSettings.of(3, 6));
                TrainableDecoder fewer =
                        open(LORA.withTargetModules(Map.of("q_proj", 1).keySet()))) {
            float[] before = TinyModels.get(decoder.values());
            assertThatThrownBy(() -> decoder.load(otherBase.adapter()))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("was made for the base");
            assertThatThrownBy(() -> decoder.load(otherRank.adapter())).hasMessageContaining("rank 3");
            assertThatThrownBy(() -> decoder.load(fewer.adapter())).hasMessageContaining("[q_proj]");
            LoraFiles files = decoder.adapter();
            byte[] cut = java.util.Arrays.copyOf(files.weights(), files.weights().length - 8);
            assertThatThrownBy(() -> decoder.load(new LoraFiles(files.config(), cut)))
                    .hasMessageContaining("truncated");
            byte[] patterned = new String(files.config(), StandardCharsets.UTF_8)
                    .replaceFirst("\\{", "{\"rank_pattern\": {\"q_proj\": 2},")
                    .getBytes(StandardCharsets.UTF_8);
            assertThatThrownBy(() -> LoraSettings.of(new LoraFiles(patterned, files.weights())))
                    .hasMessageContaining("rank_pattern");
            assertThat(TinyModels.get(decoder.values())).isEqualTo(before);
        }
    }

    @Test
    void a_saved_adapter_says_its_base_and_comes_back_bit_for_bit() throws IOException {
        LoraSettings lora = new LoraSettings(3, 5.5, 0.1, true, java.util.Set.of("q_proj", "down_proj"));
        try (TrainableDecoder decoder = open(lora)) {
            TinyModels.fillByFormula(decoder, 0.2f);
            decoder.adapter().write(folder.resolve("saved"));
            LoraFiles files = LoraFiles.read(folder.resolve("saved"));
            assertThat(Safetensors.of(folder, MemorySegment.ofArray(files.weights()))
                            .metadata())
                    .containsEntry("base_weights_hash", decoder.baseHash());
            assertThat(LoraSettings.of(files)).isEqualTo(lora);
            float[] before = TinyModels.get(decoder.values());
            TinyModels.fillByFormula(decoder, 0.5f);
            decoder.load(files);
            assertThat(TinyModels.get(decoder.values())).isEqualTo(before);
            LoraFiles narrow = decoder.adapter(Precision.BF16);
            assertThat(narrow.weights().length).isLessThan(files.weights().length);
            decoder.load(narrow);
            assertThat(TinyModels.maxDifference(TinyModels.get(decoder.values()), before))
                    .isBetween(1e-7, 1e-3);
        }
    }
}
