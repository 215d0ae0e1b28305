package org.harnesslearning.trainer.decoder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.Sampling;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** A real model, SmolLM2-135M from its Q4_1 file: against Transformers, PEFT and the serving engine. */
@RequiresModel("smollm2-135m")
class SmolLmTrainingTest {

    private static final String NAME = "smollm2-135m";
    private static final DecoderSettings SETTINGS =
            DecoderSettings.onProcessor().withThreads(1);

    @Test
    void logits_loss_and_gradients_equal_those_of_transformers_and_peft() throws Exception {
        JsonNode plain = TinyModels.runtimeGolden(NAME + ".json");
        float[] plainLogits = TinyModels.packed(NAME + ".f32.gz");
        JsonNode golden = TinyModels.golden("smollm2.json");
        try (TrainableDecoder decoder =
                TrainableDecoder.open(SharedData.model(NAME), LoraSettings.of(2, 4), SETTINGS, 1)) {
            // Without the adapter: the prompts of llm-runtime's goldens.
            int at = 0;
            double worst = 0;
            for (int i = 0; i < 2; i++) {
                float[] logits =
                        decoder.logits(TinyModels.ints(plain.get("cases").get(i).get("prompt")), true);
                for (int token = 0;
                        token < logits.length;
                        token += i == 0 ? 1 : plain.get("stride").asInt()) {
                    worst = Math.max(worst, Math.abs(logits[token] - plainLogits[at++]));
                }
            }
            assertThat(at).isGreaterThan(decoder.config().vocabulary());
            assertThat(worst).isLessThanOrEqualTo(1e-3);

            TinyModels.fillByFormula(decoder, 0.15f);
            for (JsonNode item : golden.get("cases")) {
                int[] prompt = TinyModels.ints(item.get("prompt"));
                float[] expected = TinyModels.floats(item.get("logits"));
                float[] adapted = decoder.logits(prompt, true);
                float[] base = decoder.logits(prompt, false);
                double effect = 0;
                for (int i = 0; i < expected.length; i++) {
                    int token = i * golden.get("stride").asInt();
                    assertThat(adapted[token]).isCloseTo(expected[i], within(1e-3f));
                    effect = Math.max(effect, Math.abs(adapted[token] - base[token]));
                }
                assertThat(effect).as("the adapter has an effect").isGreaterThan(0.1);
            }

            List<Sequence> batch = TinyModels.sequences(decoder.config().vocabulary(), 12, 9, 5, 16);
            List<float[]> seen = new ArrayList<>();
            Objective waves = TinyModels.waves(batch);
            double loss = decoder.accumulate(batch, 0.7, 0, (first, end, logprobs, entropies) -> {
                seen.add(TinyModels.get(logprobs));
                return waves.loss(first, end, logprobs, entropies);
            });
            assertThat(loss).isCloseTo(golden.get("loss").asDouble(), within(1e-3));
            assertThat(TinyModels.maxDifference(seen.getFirst(), TinyModels.floats(golden.get("logprobs"))))
                    .isLessThan(1e-3);
            double scale = golden.get("norm").asDouble();
            for (AdapterParameter parameter : decoder.parameters()) {
                double squares = 0;
                for (float value : TinyModels.get(parameter.gradient())) {
                    squares += (double) value * value;
                }
                double expected = golden.get("norms").get(parameter.name()).asDouble();
                assertThat(Math.sqrt(squares))
                        .as(parameter.name())
                        .isCloseTo(expected, within(1e-3 * expected + 1e-5 * scale));
            }
        }
    }

    @Test
    void the_serving_engine_gives_the_probabilities_that_training_sees() {
        EngineOptions options = EngineOptions.defaults()
                .withSlots(2)
                .withMaxSequence(256)
                .withThreads(1)
                .withDequantise(true)
                .withAdapters(1, 4);
        try (TrainableDecoder decoder =
                        TrainableDecoder.open(SharedData.model(NAME), LoraSettings.of(2, 4), SETTINGS, 1);
                LanguageModel engine = LanguageModel.load(SharedData.model(NAME), options)) {
            TinyModels.fillByFormula(decoder, 0.15f);
            LoraFiles files = decoder.adapter();
            engine.loadAdapter("trained", LoraAdapter.of(SharedData.model(NAME), files.config(), files.weights()));
            int[] prompt = TinyModels.ints(
                    TinyModels.runtimeGolden(NAME + ".json").get("cases").get(1).get("prompt"));
            List<org.harnesslearning.llm.Sequence> sampled = engine.submit(
                            GenerationRequest.of(prompt, 12, new Sampling(0.8, 1, 0, 1), 5)
                                    .withSamples(2)
                                    .withIgnoreEndTokens(true)
                                    .withAdapter("trained"))
                    .result()
                    .join()
                    .sequences();
            List<Sequence> batch = sampled.stream()
                    .map(sample -> new Sequence(prompt, sample.tokenIds()))
                    .toList();
            List<float[]> expected = sampled.stream()
                    .map(org.harnesslearning.llm.Sequence::logprobs)
                    .toList();
            assertThat(TinyModels.maxDifference(decoder.logprobs(batch, 0.8), expected))
                    .isLessThan(1e-3);
            assertThat(TinyModels.maxDifference(decoder.referenceLogprobs(batch, 0.8), expected))
                    .as("the adapter has an effect")
                    .isGreaterThan(0.05);
        }
    }
}
