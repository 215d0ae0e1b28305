package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.harnesslearning.llm.Device;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.NumberType;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.harnesslearning.llm.checkpoint.Goldens;
import org.harnesslearning.llm.cuda.CudaDevice;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.ElementType;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** A real model, SmolLM2-135M, on a GPU against Hugging Face Transformers on the same weights in fp32 on a processor. */
@Tag("cuda")
@EnabledIf(
        value = "org.harnesslearning.llm.engine.CudaTest#gpuIsHere",
        disabledReason = "no NVIDIA GPU with its driver is here")
@RequiresModel("smollm2-135m")
class SmolLmCudaTest {

    private static final String NAME = "smollm2-135m";
    private static final int FRESH = 64;

    private final JsonNode golden = Goldens.json(NAME);

    @Test
    void logitsInFp32EqualThoseOfTransformersWithinAThousandth() {
        float[] expected = Goldens.floats(NAME + ".f32.gz");
        int stride = golden.get("stride").asInt();
        Checkpoint checkpoint = Checkpoint.open(SharedData.model(NAME));
        DecoderConfig config = checkpoint.config();
        CudaMemory memory = new CudaMemory(CudaDevice.open(0));
        DecoderGraph.Options options = DecoderGraph.Options.of(checkpoint, 256, false);
        double worst = 0;
        try (Decoder decoder = new OnnxDecoder(
                checkpoint,
                1,
                1,
                256,
                1,
                DecoderPlan.own(checkpoint, options, ElementType.FLOAT, true),
                1,
                1,
                memory,
                new CudaOperators(memory, config, ElementType.FLOAT, false, 1))) {
            int at = 0;
            for (int i = 0; i < golden.get("logit_cases").asInt(); i++) {
                int[] prompt = Goldens.ints(golden.get("cases").get(i).get("prompt"));
                float[] logits =
                        decoder.extend(0, 0, prompt, Shaping.PLAIN).allLogits().get();
                for (int token = 0; token < logits.length; token += i == 0 ? 1 : stride) {
                    worst = Math.max(worst, Math.abs(logits[token] - expected[at++]));
                }
            }
            assertThat(at).isEqualTo(expected.length);
        }
        System.out.printf("SmolLM2-135M in fp32 on a GPU: logits differ from Transformers by at most %.1e%n", worst);
        assertThat(worst).isLessThanOrEqualTo(1e-3);
    }

    /** In 16 bits near-ties fall otherwise, after which a continuation is another text; so each token is judged alone too. */
    @ParameterizedTest
    @CsvSource({"FP32, 16, 1", "FP16, 0, 0.98", "BF16, 0, 0.95"})
    void greedyTokensAreThoseOfTransformers(NumberType type, int fewestTexts, double fewestTokens) {
        List<int[]> prompts = new ArrayList<>();
        List<int[]> expected = new ArrayList<>();
        golden.get("cases").forEach(item -> {
            prompts.add(Goldens.ints(item.get("prompt")));
            expected.add(Goldens.ints(item.get("greedy")));
        });
        int count = prompts.size();
        EngineOptions options = EngineOptions.defaults()
                .withSlots(count)
                .withMaxSequence(256)
                .withMaxQueue(count * FRESH)
                .withDevice(Device.cuda(0), type);
        try (LanguageModel model = LanguageModel.load(SharedData.model(NAME), options)) {
            List<int[]> batched = continuations(model, prompts, FRESH);
            List<int[]> single = new ArrayList<>();
            for (int[] prompt : prompts) {
                single.addAll(continuations(model, List.of(prompt), FRESH));
            }
            List<int[]> texts = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                for (int length = 0; length < FRESH; length++) {
                    int[] text = Arrays.copyOf(prompts.get(i), prompts.get(i).length + length);
                    System.arraycopy(expected.get(i), 0, text, prompts.get(i).length, length);
                    texts.add(text);
                }
            }
            List<int[]> next = continuations(model, texts, 1);
            int agreeing = 0;
            for (int i = 0; i < texts.size(); i++) {
                agreeing += next.get(i)[0] == expected.get(i / FRESH)[i % FRESH] ? 1 : 0;
            }
            int[] inBatch = alike(batched, expected);
            int[] alone = alike(single, expected);
            System.out.printf(
                    "SmolLM2-135M in %s on a GPU: top-1 agreement %.2f %% of %d tokens; first tokens alike of %d, "
                            + "in a batch of %d: %s; alone: %s%n",
                    type,
                    100.0 * agreeing / texts.size(),
                    texts.size(),
                    FRESH,
                    count,
                    Arrays.toString(inBatch),
                    Arrays.toString(alone));
            assertThat((double) agreeing / texts.size()).isGreaterThanOrEqualTo(fewestTokens);
            assertThat(List.of(whole(inBatch), whole(alone))).allMatch(same -> same >= fewestTexts);
        }
    }

    /** All requests are submitted before the first result is asked for. */
    private static List<int[]> continuations(LanguageModel model, List<int[]> prompts, int fresh) {
        List<Generation> running = prompts.stream()
                .map(prompt ->
                        model.submit(GenerationRequest.greedy(prompt, fresh).withIgnoreEndTokens(true)))
                .toList();
        return running.stream()
                .map(generation ->
                        generation.result().join().sequences().getFirst().tokenIds())
                .toList();
    }

    /** How many first tokens of each text are those expected. */
    private static int[] alike(List<int[]> texts, List<int[]> expected) {
        return IntStream.range(0, texts.size())
                .map(i -> {
                    int mismatch = Arrays.mismatch(texts.get(i), expected.get(i));
                    return mismatch < 0 ? FRESH : mismatch;
                })
                .toArray();
    }

    private static long whole(int[] alike) {
        return Arrays.stream(alike).filter(tokens -> tokens == FRESH).count();
    }
}
