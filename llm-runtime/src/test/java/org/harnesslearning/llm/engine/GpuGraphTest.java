package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.Goldens;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.checkpoint.TinyCheckpoints;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.DecoderGraph.Target;
import org.harnesslearning.llm.graph.ElementType;
import org.harnesslearning.llm.sampling.Candidates;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/**
 * The graphs that are made for GPUs, run on the processor: with ONNX Runtime's operators alone, and with our own in their
 * plain form.
 */
class GpuGraphTest {

    private static final int ROWS = 4;
    private static final int POSITIONS = 64;

    @TempDir
    private Path directory;

    private Checkpoint checkpoint(String name) throws IOException {
        return Checkpoint.open(TinyCheckpoints.huggingFace(directory, name, 1));
    }

    private static OnnxDecoder decoder(Checkpoint checkpoint, DecoderPlan plan, boolean own) {
        boolean headNorms = checkpoint.find(0, "attn_q_norm.weight") != null;
        return new OnnxDecoder(
                checkpoint,
                ROWS,
                ROWS,
                POSITIONS,
                1,
                plan,
                1,
                1,
                new HostMemory(),
                own ? new ReferenceOperators(checkpoint.config(), headNorms) : DecoderPlan.noOperators());
    }

    /** Logits after prompts of different length, then of steps over one row, over all rows, and with penalties. */
    static List<float[]> play(OnnxDecoder decoder, int vocabulary) {
        List<float[]> seen = new ArrayList<>();
        Random random = new Random(4);
        int[] lengths = {9, 3, 1, 17};
        for (int row = 0; row < ROWS; row++) {
            int[] prompt = random.ints(lengths[row], 0, vocabulary).toArray();
            int first = (prompt.length + 1) / 2;
            decoder.extend(row, 0, java.util.Arrays.copyOf(prompt, first), Shaping.PLAIN);
            if (first < prompt.length) {
                int[] rest = java.util.Arrays.copyOfRange(prompt, first, prompt.length);
                seen.add(decoder.extend(row, first, rest, Shaping.PLAIN)
                        .allLogits()
                        .get());
            }
        }
        int[] pasts = lengths.clone();
        for (int step = 0; step < 4; step++) {
            int count = step % 2 == 0 ? ROWS : 1 + step / 2;
            Shaping shaping = step < 2 ? Shaping.PLAIN : new Shaping(2, 1.5f, new int[] {3}, new float[] {0.5f});
            int[] tokens = random.ints(count, 0, vocabulary).toArray();
            decoder.step(java.util.Arrays.copyOf(pasts, count), tokens, Collections.nCopies(count, shaping))
                    .forEach(candidates -> seen.add(candidates.allLogits().get()));
            for (int row = 0; row < count; row++) {
                pasts[row]++;
            }
        }
        decoder.copy(3, 1, 20);
        decoder.swap(1, 20, 0, pasts[0]);
        seen.add(decoder.step(new int[] {20}, new int[] {7}, List.of(Shaping.PLAIN))
                .getFirst()
                .allLogits()
                .get());
        return seen;
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama-untied", "llama-tied-llama3-rope", "qwen2-tied", "qwen3-tied"})
    void graphsForGpusComputeWhatTheProcessorsGraphDoes(String name) throws IOException {
        int vocabulary = checkpoint(name).config().vocabulary();
        List<float[]> expected;
        try (OnnxDecoder decoder = new OnnxDecoder(checkpoint(name), ROWS, ROWS, POSITIONS, 1, false)) {
            expected = play(decoder, vocabulary);
        }
        for (String kind : List.of("plain", "own", "mixed")) {
            Checkpoint checkpoint = checkpoint(name);
            DecoderGraph.Options options = DecoderGraph.Options.of(checkpoint, POSITIONS, false);
            DecoderPlan own = DecoderPlan.own(checkpoint, options, ElementType.FLOAT, false);
            DecoderPlan plan = switch (kind) {
                case "plain" -> DecoderPlan.gpu(checkpoint, options, ElementType.FLOAT, false);
                case "own" -> own;
                default -> {
                    // As in half precision: a prompt's attention is ONNX Runtime's.
                    Target target = new Target(ElementType.FLOAT, true, true, false, false, false);
                    DecoderPlan.Graph prompt =
                            new DecoderPlan.Graph(DecoderGraph.build(checkpoint, options, target), target);
                    yield new DecoderPlan(prompt, own.step(), own.single(), prompt, prompt, ElementType.FLOAT, false);
                }
            };
            try (OnnxDecoder decoder = decoder(checkpoint, plan, !kind.equals("plain"))) {
                List<float[]> actual = play(decoder, vocabulary);
                assertThat(actual).hasSameSizeAs(expected);
                for (int i = 0; i < actual.size(); i++) {
                    assertThat(Logits.maxDifference(actual.get(i), expected.get(i)))
                            .as("%s, step %d", kind, i)
                            .isLessThan(2e-5);
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"llama-all, true", "qwen2-all, true", "qwen3-all, true", "llama-all, false", "qwen3-all, false"})
    void graphsForGpusTakeAdapters(String name, boolean own) throws IOException {
        JsonNode golden = Goldens.json("adapters").get(name);
        Checkpoint checkpoint = checkpoint(golden.get("base").asString());
        DecoderGraph.Options options =
                DecoderGraph.Options.of(checkpoint, POSITIONS, false).withAdapters(true);
        DecoderPlan plan = own
                ? DecoderPlan.own(checkpoint, options, ElementType.FLOAT, false)
                : DecoderPlan.gpu(checkpoint, options, ElementType.FLOAT, false);
        boolean headNorms = checkpoint.find(0, "attn_q_norm.weight") != null;
        DecoderPlan.DecoderOperators operators =
                own ? new ReferenceOperators(checkpoint.config(), headNorms) : DecoderPlan.noOperators();
        try (OnnxDecoder decoder =
                new OnnxDecoder(checkpoint, ROWS, ROWS, POSITIONS, 1, plan, 2, 8, new HostMemory(), operators)) {
            decoder.writeAdapter(1, LoraAdapter.read(Goldens.adapter(name)));
            Shaping with = Shaping.PLAIN.withAdapter(1);
            for (JsonNode item : golden.get("cases")) {
                int[] ids = Goldens.ints(item.get("prompt"));
                float[] expected = Goldens.floats(item.get("logits"));
                float[] whole = decoder.extend(1, 0, ids, with).allLogits().get();
                assertThat(Logits.maxDifference(whole, expected)).isLessThan(2e-5);
                if (ids.length > 1) {
                    int past = ids.length - 1;
                    decoder.extend(0, 0, java.util.Arrays.copyOf(ids, past), with);
                    decoder.extend(1, 0, java.util.Arrays.copyOf(ids, past), Shaping.PLAIN);
                    int[] next = {ids[past], ids[past]};
                    List<Candidates> both = decoder.step(new int[] {past, past}, next, List.of(with, Shaping.PLAIN));
                    assertThat(Logits.maxDifference(both.getFirst().allLogits().get(), expected))
                            .isLessThan(2e-5);
                    assertThat(Logits.maxDifference(both.getLast().allLogits().get(), expected))
                            .isGreaterThan(1e-3);
                }
            }
        }
    }

    /**
     * A captured step keeps the addresses and shapes of its first run: what adapters its rows have, and what lies in their
     * slots, may change all the same. (The processor runs the captured form without a CUDA graph.)
     */
    @ParameterizedTest
    @ValueSource(strings = {"llama-all", "qwen3-all"})
    void capturedStepsComputeWithTheAdaptersOfTheMoment(String name) throws IOException {
        JsonNode golden = Goldens.json("adapters").get(name);
        LoraAdapter adapter = LoraAdapter.read(Goldens.adapter(name));
        List<List<float[]>> seen = new ArrayList<>();
        for (boolean captured : List.of(false, true)) {
            Checkpoint checkpoint = checkpoint(golden.get("base").asString());
            DecoderGraph.Options options =
                    DecoderGraph.Options.of(checkpoint, POSITIONS, false).withAdapters(true);
            DecoderPlan plan = captured
                    ? DecoderPlan.own(checkpoint, options, ElementType.FLOAT, true)
                    : DecoderPlan.processor(DecoderGraph.build(checkpoint, options));
            boolean headNorms = checkpoint.find(0, "attn_q_norm.weight") != null;
            DecoderPlan.DecoderOperators operators =
                    captured ? new ReferenceOperators(checkpoint.config(), headNorms) : DecoderPlan.noOperators();
            try (OnnxDecoder decoder =
                    new OnnxDecoder(checkpoint, ROWS, ROWS, POSITIONS, 1, plan, 3, 8, new HostMemory(), operators)) {
                decoder.prepare();
                seen.add(changingAdapters(decoder, adapter));
            }
        }
        List<float[]> expected = seen.getFirst();
        List<float[]> actual = seen.getLast();
        for (int i = 0; i < expected.size(); i++) {
            assertThat(Logits.maxDifference(actual.get(i), expected.get(i)))
                    .as("row %d", i)
                    .isLessThan(2e-5);
        }
        assertThat(Logits.maxDifference(actual.get(0), actual.get(1)))
                .as("with and without the adapter")
                .isGreaterThan(1e-3);
        assertThat(Logits.maxDifference(actual.get(3), actual.get(7)))
                .as("the slot before and after it was emptied")
                .isGreaterThan(1e-3);
    }

    /** Logits of all rows of four steps, between which slots are emptied and taken. */
    private static List<float[]> changingAdapters(OnnxDecoder decoder, LoraAdapter adapter) {
        Shaping first = Shaping.PLAIN.withAdapter(0);
        Shaping last = Shaping.PLAIN.withAdapter(2);
        List<float[]> seen = new ArrayList<>();
        decoder.writeAdapter(0, adapter);
        for (int row = 0; row < 3; row++) {
            decoder.extend(row, 0, new int[] {3, 5, 7}, Shaping.PLAIN);
        }
        add(seen, decoder.step(new int[] {3, 3, 3}, new int[] {2, 2, 2}, List.of(first, Shaping.PLAIN, last)));
        decoder.writeAdapter(2, adapter);
        add(seen, decoder.step(new int[] {3, 3, 3}, new int[] {2, 2, 2}, List.of(last, Shaping.PLAIN, first)));
        decoder.clearAdapter(2);
        add(seen, decoder.step(new int[] {3, 3, 3}, new int[] {2, 2, 2}, List.of(first, last, last)));
        decoder.writeAdapter(2, adapter);
        decoder.clearAdapter(0);
        add(seen, decoder.step(new int[] {3, 3, 3}, new int[] {2, 2, 2}, List.of(first, last, Shaping.PLAIN)));
        return seen;
    }

    private static void add(List<float[]> seen, List<Candidates> rows) {
        rows.forEach(row -> seen.add(row.allLogits().get()));
    }
}
