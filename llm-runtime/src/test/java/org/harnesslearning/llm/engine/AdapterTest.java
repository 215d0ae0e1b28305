package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.harnesslearning.llm.AdapterCard;
import org.harnesslearning.llm.AdapterException;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.GenerationResult;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.ModelClosedException;
import org.harnesslearning.llm.TokenListener;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.Goldens;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.checkpoint.TinyCheckpoints;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.sampling.Candidates;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** Adapters written by Hugging Face PEFT, against the models that PEFT makes by merging them. */
@Timeout(60)
class AdapterTest {

    private static final EngineOptions OPTIONS = EngineOptions.defaults()
            .withSlots(4)
            .withThreads(1)
            .withPrefillChunk(7)
            .withAdapters(3, 8);

    @TempDir
    private Path directory;

    private static LoraAdapter adapter(String name) {
        return LoraAdapter.read(Goldens.adapter(name));
    }

    private LanguageModel load(EngineOptions options) throws IOException {
        return LanguageModel.load(TinyCheckpoints.huggingFace(directory, "llama-untied", 1), options);
    }

    @SuppressWarnings("MustBeClosedChecker")
    private static OnnxDecoder decoder(Path path, int adapters) {
        Checkpoint checkpoint = Checkpoint.open(path);
        DecoderGraph.Options options =
                DecoderGraph.Options.of(checkpoint, 64, false).withAdapters(true);
        return new OnnxDecoder(checkpoint, 4, 4, 64, 1, DecoderGraph.build(checkpoint, options), adapters, 8);
    }

    private static float[] logits(Candidates candidates) {
        return candidates.allLogits().get();
    }

    private static GenerationRequest greedy(JsonNode item, String adapter) {
        return GenerationRequest.greedy(
                        Goldens.ints(item.get("prompt")), item.get("greedy").size())
                .withIgnoreEndTokens(true)
                .withAdapter(adapter);
    }

    private static int[] tokens(GenerationResult result) {
        return result.sequences().getFirst().tokenIds();
    }

    @ParameterizedTest
    @CsvSource({
        "llama-all, false",
        "llama-all, true",
        "llama-rank-stabilised, false",
        "llama-one-layer, true",
        "qwen2-all, false",
        "qwen3-all, true"
    })
    void logitsEqualThoseOfTheMergedModel(String name, boolean gguf) throws IOException {
        JsonNode golden = Goldens.json("adapters").get(name);
        String base = golden.get("base").asString();
        Path checkpoint =
                gguf ? TinyCheckpoints.gguf(directory, base) : TinyCheckpoints.huggingFace(directory, base, 1);
        try (OnnxDecoder decoder = decoder(checkpoint, 2)) {
            int[] prompt = Goldens.ints(golden.get("cases").get(1).get("prompt"));
            float[] plain = logits(decoder.extend(0, 0, prompt, Shaping.PLAIN));
            LoraAdapter adapter = adapter(name);
            decoder.checkAdapter(adapter);
            for (int slot = 0; slot < 2; slot++) {
                decoder.writeAdapter(slot, adapter);
                Shaping with = Shaping.PLAIN.withAdapter(slot);
                for (JsonNode item : golden.get("cases")) {
                    int[] ids = Goldens.ints(item.get("prompt"));
                    float[] expected = Goldens.floats(item.get("logits"));
                    assertThat(Logits.maxDifference(logits(decoder.extend(1, 0, ids, with)), expected))
                            .isLessThan(2e-5);
                    // All tokens but the last as a prompt, then a step for the last.
                    if (ids.length > 1) {
                        decoder.extend(0, 0, Arrays.copyOf(ids, ids.length - 1), with);
                        int[] last = {ids[ids.length - 1]};
                        List<Candidates> stepped = decoder.step(new int[] {ids.length - 1}, last, List.of(with));
                        assertThat(Logits.maxDifference(logits(stepped.getFirst()), expected))
                                .isLessThan(2e-5);
                    }
                }
                assertThat(Logits.maxDifference(logits(decoder.extend(0, 0, prompt, with)), plain))
                        .as("the adapter has an effect")
                        .isGreaterThan(0.01);
                decoder.clearAdapter(slot);
                assertThat(logits(decoder.extend(0, 0, prompt, with))).containsExactly(plain);
            }
        }
    }

    @Test
    void aModelWithRoomForAdaptersComputesWhatOneWithoutDoes() throws IOException {
        Path checkpoint = TinyCheckpoints.huggingFace(directory, "llama-untied", 1);
        int[] prompt = {3, 1, 4, 1, 5};
        try (OnnxDecoder without = new OnnxDecoder(Checkpoint.open(checkpoint), 1, 1, 64, 1, false);
                OnnxDecoder with = decoder(checkpoint, 2)) {
            assertThat(logits(with.extend(0, 0, prompt, Shaping.PLAIN)))
                    .containsExactly(logits(without.extend(0, 0, prompt, Shaping.PLAIN)));
        }
    }

    @Test
    void rowsWithDifferentAdaptersInOneStepEqualEachAlone() throws IOException {
        try (OnnxDecoder decoder = decoder(TinyCheckpoints.huggingFace(directory, "llama-untied", 1), 3)) {
            decoder.writeAdapter(0, adapter("llama-all"));
            decoder.writeAdapter(1, adapter("llama-one-layer"));
            decoder.writeAdapter(2, adapter("llama-rank-stabilised"));
            int[] prompt = {3, 1, 4, 1, 5, 9, 2, 6};
            int[] slots = {2, Shaping.NO_ADAPTER, 0, 1};
            List<float[]> alone = new ArrayList<>();
            for (int slot : slots) {
                Shaping shaping = Shaping.PLAIN.withAdapter(slot);
                decoder.extend(0, 0, prompt, shaping);
                alone.add(logits(decoder.step(new int[] {8}, new int[] {53}, List.of(shaping))
                        .getFirst()));
            }
            List<Shaping> shapings = new ArrayList<>();
            for (int row = 0; row < slots.length; row++) {
                shapings.add(Shaping.PLAIN.withAdapter(slots[row]));
                decoder.extend(row, 0, prompt, shapings.get(row));
            }
            List<Candidates> together = decoder.step(new int[] {8, 8, 8, 8}, new int[] {53, 53, 53, 53}, shapings);
            for (int row = 0; row < slots.length; row++) {
                assertThat(Logits.maxDifference(logits(together.get(row)), alone.get(row)))
                        .isLessThan(1e-5);
                for (int other = 0; other < row; other++) {
                    assertThat(Logits.maxDifference(alone.get(row), alone.get(other)))
                            .isGreaterThan(0.01);
                }
            }
        }
    }

    @Test
    void requestsWithDifferentAdaptersRunTogetherAndSayWhatTheyRanWith() throws IOException {
        JsonNode goldens = Goldens.json("adapters");
        JsonNode base = Goldens.json("tiny").get("llama-untied");
        List<String> names = List.of("llama-all", "llama-one-layer", "llama-rank-stabilised");
        try (LanguageModel model = load(OPTIONS)) {
            for (String name : names) {
                AdapterCard card = model.loadAdapter(name, adapter(name));
                assertThat(card.hash()).matches("sha256:[0-9a-f]{64}");
            }
            assertThat(model.adapters()).extracting(AdapterCard::name).containsExactlyElementsOf(names);
            for (int round = 0; round < 2; round++) { // the second one meets the first one's prefixes
                List<Generation> generations = new ArrayList<>();
                List<int[]> expected = new ArrayList<>();
                List<String> versions = new ArrayList<>();
                for (int i = 0; i < 3; i++) {
                    for (String name : names) {
                        JsonNode item = goldens.get(name).get("cases").get(i);
                        generations.add(model.submit(greedy(item, name)));
                        expected.add(Goldens.ints(item.get("greedy")));
                        versions.add(
                                model.card().weightsHash() + "+" + adapter(name).hash());
                    }
                    JsonNode item = base.get("cases").get(i);
                    generations.add(model.submit(greedy(item, null)));
                    expected.add(Goldens.ints(item.get("greedy")));
                    versions.add(model.card().weightsHash());
                }
                for (int i = 0; i < expected.size(); i++) {
                    GenerationResult result = generations.get(i).result().join();
                    assertThat(tokens(result)).containsExactly(expected.get(i));
                    assertThat(result.weightsVersion()).isEqualTo(versions.get(i));
                }
            }
            assertThat(model.statistics().cachedPromptTokens()).isPositive();
        }
    }

    @Test
    void adaptersComeAndGoWhileRequestsRun() throws Exception {
        JsonNode goldens = Goldens.json("adapters");
        JsonNode base = Goldens.json("tiny").get("llama-untied").get("cases").get(1);
        AtomicBoolean done = new AtomicBoolean();
        try (LanguageModel model = load(OPTIONS);
                ExecutorService pool = Executors.newFixedThreadPool(3)) {
            Future<Integer> load = pool.submit(() -> {
                int count = 0;
                while (!done.get()) {
                    assertThat(tokens(model.submit(greedy(base, null)).result().join()))
                            .containsExactly(Goldens.ints(base.get("greedy")));
                    count++;
                }
                return count;
            });
            List<Future<?>> users = new ArrayList<>();
            for (String name : List.of("llama-all", "llama-one-layer")) {
                users.add(pool.submit(() -> {
                    JsonNode item = goldens.get(name).get("cases").get(2);
                    for (int i = 0; i < 15; i++) {
                        String own = name + i;
                        model.loadAdapter(own, adapter(name));
                        Generation generation = model.submit(greedy(item, own));
                        model.unloadAdapter(own); // waits for the request
                        assertThat(generation.result()).isDone();
                        assertThat(tokens(generation.result().join()))
                                .containsExactly(Goldens.ints(item.get("greedy")));
                        assertThatThrownBy(() -> model.submit(greedy(item, own)))
                                .isInstanceOf(AdapterException.class)
                                .hasMessageContaining(own);
                    }
                }));
            }
            for (Future<?> user : users) {
                user.get(50, TimeUnit.SECONDS);
            }
            done.set(true);
            assertThat(load.get(10, TimeUnit.SECONDS)).isPositive();
            assertThat(model.adapters()).isEmpty();
        }
    }

    /** Lets the engine thread, which loads adapters too, stand still at each token until it may go on. */
    private static TokenListener held(CountDownLatch started, CountDownLatch go) {
        return (sample, token, logprob, alternatives) -> {
            started.countDown();
            try {
                return go.await(30, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                return false;
            }
        };
    }

    @Test
    void anUnloadedAdapterServesItsLastRequestsAndItsNameIsFree() throws Exception {
        JsonNode item = Goldens.json("adapters").get("llama-all").get("cases").get(1);
        JsonNode other =
                Goldens.json("adapters").get("llama-one-layer").get("cases").get(1);
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        try (LanguageModel model = load(OPTIONS.withAdapters(1, 8));
                ExecutorService pool = Executors.newFixedThreadPool(2)) {
            model.loadAdapter("policy", adapter("llama-all"));
            Generation generation = model.submit(greedy(item, "policy").withListener(held(started, go)));
            assertThat(started.await(30, TimeUnit.SECONDS)).isTrue();
            assertThat(model.adapters().getFirst().requests()).isEqualTo(1);
            Future<?> unloading = pool.submit(() -> model.unloadAdapter("policy"));
            while (!model.adapters().isEmpty()) {
                Thread.onSpinWait();
            }
            assertThatThrownBy(() -> model.submit(greedy(item, "policy"))).isInstanceOf(AdapterException.class);
            assertThatThrownBy(() -> model.loadAdapter("policy", adapter("llama-one-layer")))
                    .as("its slot is still in use")
                    .isInstanceOf(AdapterException.class)
                    .hasMessageContaining("all 1 adapters");
            assertThat(unloading.isDone()).isFalse();
            go.countDown();
            assertThat(tokens(generation.result().join())).containsExactly(Goldens.ints(item.get("greedy")));
            unloading.get(30, TimeUnit.SECONDS);
            model.loadAdapter("policy", adapter("llama-one-layer"));
            assertThat(tokens(model.submit(greedy(other, "policy")).result().join()))
                    .containsExactly(Goldens.ints(other.get("greedy")));
        }
    }

    @Test
    void aNamePassesToAnotherAdapterBetweenTwoRequests() throws Exception {
        JsonNode before = Goldens.json("adapters").get("llama-all").get("cases").get(1);
        JsonNode after =
                Goldens.json("adapters").get("llama-one-layer").get("cases").get(1);
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        try (LanguageModel model = load(OPTIONS.withAdapters(2, 8))) {
            model.loadAdapter("policy", adapter("llama-all"));
            Generation first = model.submit(greedy(before, "policy").withListener(held(started, go)));
            assertThat(started.await(30, TimeUnit.SECONDS)).isTrue();
            go.countDown();
            AdapterCard card = model.loadAdapter("policy", adapter("llama-one-layer"), true);
            Generation second = model.submit(greedy(after, "policy"));
            assertThat(tokens(first.result().join())).containsExactly(Goldens.ints(before.get("greedy")));
            assertThat(first.result().join().weightsVersion())
                    .endsWith(adapter("llama-all").hash());
            assertThat(tokens(second.result().join())).containsExactly(Goldens.ints(after.get("greedy")));
            assertThat(second.result().join().weightsVersion()).endsWith(card.hash());
            assertThat(model.adapters()).extracting(AdapterCard::hash).containsExactly(card.hash());
            // The slot of the first is free again: both fit.
            model.loadAdapter("policy", adapter("llama-all"), true);
            model.unloadAdapter("policy");
            assertThat(model.adapters()).isEmpty();
        }
    }

    @Test
    void whatCannotBeLoadedIsRefusedAndLeavesNothing() throws IOException {
        LoraAdapter all = adapter("llama-all");
        LanguageModel model = load(OPTIONS.withAdapters(2, 4));
        try (model) {
            assertThatThrownBy(() -> model.loadAdapter("x", adapter("llama-rank-stabilised")))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("has rank 8, at most 4");
            assertThatThrownBy(() -> model.loadAdapter("x", adapter("qwen2-all")))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("is for a base whose blk.0.attn_k is (32, 64), this one's is (32, 32)");
            assertThatThrownBy(() -> model.submit(greedy(
                            Goldens.json("adapters")
                                    .get("llama-all")
                                    .get("cases")
                                    .get(0),
                            "x")))
                    .isInstanceOf(AdapterException.class)
                    .hasMessageContaining("no adapter 'x'");
            assertThatThrownBy(() -> model.unloadAdapter("x")).isInstanceOf(AdapterException.class);
            model.loadAdapter("a", all);
            model.loadAdapter("a", all); // the same again
            assertThatThrownBy(() -> model.loadAdapter("a", adapter("llama-one-layer")))
                    .isInstanceOf(AdapterException.class)
                    .hasMessageContaining("loaded with other content");
            model.loadAdapter("b", adapter("llama-one-layer"));
            assertThatThrownBy(() -> model.loadAdapter("c", all))
                    .isInstanceOf(AdapterException.class)
                    .hasMessageContaining("all 2 adapters");
            model.unloadAdapter("a");
            model.loadAdapter("c", all);
            assertThat(model.adapters()).extracting(AdapterCard::name).containsExactly("b", "c");
        }
        assertThatThrownBy(() -> model.unloadAdapter("b")).isInstanceOf(ModelClosedException.class);
        try (LanguageModel without = load(OPTIONS.withAdapters(0, 8))) {
            assertThatThrownBy(() -> without.loadAdapter("a", all))
                    .isInstanceOf(AdapterException.class)
                    .hasMessageContaining("maxAdapters");
        }
    }
}
