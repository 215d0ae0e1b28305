package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.harnesslearning.llm.ContextLengthException;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.FinishReason;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationException;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.GenerationResult;
import org.harnesslearning.llm.ModelCard;
import org.harnesslearning.llm.ModelClosedException;
import org.harnesslearning.llm.QueueFullException;
import org.harnesslearning.llm.Sampling;
import org.harnesslearning.llm.Sequence;
import org.harnesslearning.llm.TokenLogprob;
import org.harnesslearning.llm.checkpoint.Goldens;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.sampling.Candidates;
import org.harnesslearning.llm.sampling.Sampler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Scheduling, with a decoder that notices every misplaced cell. */
@Timeout(60)
class EngineTest {

    private static final int END = 39;
    private static final ModelCard CARD =
            new ModelCard("hash", "llama", "sha256:0", "f32", 64, HashDecoder.VOCABULARY, 1, Set.of(END));
    private static final EngineOptions OPTIONS = EngineOptions.defaults()
            .withSlots(3)
            .withSpareRows(1)
            .withMaxSequence(64)
            .withPrefillChunk(4)
            .withMaxQueue(1000)
            .withAdapters(2, 8);
    private static final List<String> ADAPTERS = List.of("llama-all", "qwen3-all");

    private static Engine engine(HashDecoder decoder) {
        return new Engine(decoder, CARD, OPTIONS);
    }

    private static HashDecoder decoder() {
        return new HashDecoder(4, 64);
    }

    /** What a request must give, computed with nothing but the model's definition and the sampler. */
    private static Sequence expected(GenerationRequest request, int sample) {
        Sampler sampler = new Sampler(request.sampling(), request.seed(), sample);
        int prompt = request.promptTokens().length;
        int[] text = Arrays.copyOf(request.promptTokens(), prompt + request.maxTokens());
        float[] logprobs = new float[request.maxTokens()];
        for (int i = 0; i < request.maxTokens(); i++) {
            int[] sofar = Arrays.copyOf(text, prompt + i);
            Candidates candidates = HashDecoder.adapted(
                    sofar,
                    request.adapter() == null ? "" : adapter(request.adapter()).hash(),
                    shaping(request.sampling(), sofar, prompt));
            TokenLogprob next = sampler.next(candidates, i);
            if (next.tokenId() == END && !request.ignoreEndTokens()) {
                return sequence(text, prompt, i, logprobs, FinishReason.STOP, END);
            }
            text[prompt + i] = next.tokenId();
            logprobs[i] = next.logprob();
        }
        return sequence(text, prompt, request.maxTokens(), logprobs, FinishReason.LENGTH, -1);
    }

    private static LoraAdapter adapter(String name) {
        return LoraAdapter.read(Goldens.adapter(name));
    }

    private static Shaping shaping(Sampling sampling, int[] text, int prompt) {
        int[] tokens = Arrays.stream(text).distinct().toArray();
        float[] offsets = new float[tokens.length];
        for (int i = 0; i < tokens.length; i++) {
            int token = tokens[i];
            long made = Arrays.stream(text, prompt, text.length)
                    .filter(other -> other == token)
                    .count();
            offsets[i] = (float) (sampling.frequencyPenalty() * made + (made > 0 ? sampling.presencePenalty() : 0));
        }
        double temperature = sampling.temperature();
        return new Shaping(
                temperature == 0 ? 1 : (float) (1 / temperature),
                (float) sampling.repetitionPenalty(),
                tokens,
                offsets);
    }

    private static Sequence sequence(int[] text, int from, int count, float[] logprobs, FinishReason why, int end) {
        return new Sequence(
                Arrays.copyOfRange(text, from, from + count), Arrays.copyOf(logprobs, count), List.of(), why, end);
    }

    private static void assertSame(Sequence actual, Sequence expected) {
        assertThat(actual.tokenIds()).containsExactly(expected.tokenIds());
        assertThat(actual.logprobs()).containsExactly(expected.logprobs());
        assertThat(actual.reason()).isEqualTo(expected.reason());
        assertThat(actual.endToken()).isEqualTo(expected.endToken());
    }

    private static int[] prompt(int... tokens) {
        return tokens;
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void everyRequestGetsWhatItWouldGetAlone(long seed) {
        Random random = new Random(seed);
        HashDecoder decoder = decoder();
        try (Engine engine = engine(decoder)) {
            ADAPTERS.forEach(name -> engine.loadAdapter(name, adapter(name)));
            List<int[]> stems = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                stems.add(random.ints(random.nextInt(1, 25), 0, HashDecoder.VOCABULARY)
                        .toArray());
            }
            List<GenerationRequest> requests = new ArrayList<>();
            List<Generation> generations = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                int[] stem = stems.get(random.nextInt(stems.size()));
                int[] tail = random.ints(random.nextInt(0, 12), 0, HashDecoder.VOCABULARY)
                        .toArray();
                int[] prompt = Arrays.copyOf(stem, stem.length + tail.length);
                System.arraycopy(tail, 0, prompt, stem.length, tail.length);
                Sampling sampling = switch (random.nextInt(7)) {
                    case 0 -> Sampling.greedy();
                    case 5 -> new Sampling(0, 1, 0, 1, 0, 0.5, 1.5);
                    case 6 -> new Sampling(1.5, 0.9, 0, 1.1, 0.05, -1, 0.3);
                    case 1 -> Sampling.ofTemperature(0.7);
                    case 2 -> new Sampling(1.3, 0.9, 0, 1);
                    case 3 -> new Sampling(0.9, 1, 5, 1);
                    default -> new Sampling(1, 0.95, 20, 1.2);
                };
                GenerationRequest request = GenerationRequest.of(
                                prompt, random.nextInt(1, 20), sampling, random.nextLong())
                        .withSamples(random.nextInt(1, 6))
                        .withAdapter(random.nextBoolean() ? null : ADAPTERS.get(random.nextInt(2)))
                        .withIgnoreEndTokens(random.nextBoolean());
                requests.add(request);
                generations.add(engine.submit(request));
            }
            for (int i = 0; i < requests.size(); i++) {
                GenerationResult result = generations.get(i).result().join();
                for (int sample = 0; sample < requests.get(i).samples(); sample++) {
                    assertSame(result.sequences().get(sample), expected(requests.get(i), sample));
                }
            }
            assertThat(engine.statistics().cachedPromptTokens()).isPositive();
        }
        assertThat(decoder.closed()).isTrue();
    }

    @Test
    void samplesShareOnePrefill() {
        HashDecoder decoder = decoder();
        try (Engine engine = engine(decoder)) {
            int[] prompt = new Random(1).ints(20, 0, 39).toArray();
            GenerationRequest request = GenerationRequest.of(prompt, 1, Sampling.ofTemperature(1), 5)
                    .withSamples(3);
            engine.submit(request).result().join();
            assertThat(decoder.computed()).isEqualTo(20);
        }
    }

    @Test
    void samplesWithSeedsOfTheirOwnEqualSingleRequestsAndShareOnePrefill() {
        HashDecoder decoder = decoder();
        try (Engine engine = engine(decoder)) {
            int[] prompt = new Random(2).ints(20, 0, 39).toArray();
            GenerationRequest single = GenerationRequest.of(prompt, 6, Sampling.ofTemperature(1), 0);
            List<Long> seeds = List.of(11L, 12L, 13L);
            GenerationResult together =
                    engine.submit(single.withSampleSeeds(seeds)).result().join();
            assertThat(engine.statistics().cachedPromptTokens()).isZero();
            for (int i = 0; i < seeds.size(); i++) {
                GenerationRequest alone = GenerationRequest.of(prompt, 6, Sampling.ofTemperature(1), seeds.get(i));
                assertSame(together.sequences().get(i), expected(alone, 0));
            }
        }
    }

    @Test
    void anEqualPromptComputesOnlyItsLastTokenAgain() {
        HashDecoder decoder = decoder();
        try (Engine engine = engine(decoder)) {
            int[] prompt = new Random(1).ints(20, 0, 39).toArray();
            GenerationRequest request = GenerationRequest.greedy(prompt, 1);
            engine.submit(request).result().join();
            GenerationResult second = engine.submit(request).result().join();
            assertThat(second.cachedPromptTokens()).isEqualTo(19);
            assertThat(decoder.computed()).isEqualTo(21);
        }
    }

    @Test
    void prefixesAreNotReusedWhenSwitchedOff() {
        HashDecoder decoder = decoder();
        try (Engine engine = new Engine(decoder, CARD, OPTIONS.withReusePrefixes(false))) {
            GenerationRequest request = GenerationRequest.greedy(prompt(1, 2, 3, 4, 5), 1);
            engine.submit(request).result().join();
            assertThat(engine.submit(request).result().join().cachedPromptTokens())
                    .isZero();
        }
    }

    @Test
    void aLongPromptSurvivesShortOnesInTheOtherRows() {
        HashDecoder decoder = decoder();
        try (Engine engine = engine(decoder)) {
            int[] longPrompt = new Random(1).ints(40, 0, 39).toArray();
            engine.submit(GenerationRequest.greedy(longPrompt, 1)).result().join();
            for (int i = 0; i < 10; i++) {
                engine.submit(GenerationRequest.greedy(prompt(i, i + 1, i + 2), 2))
                        .result()
                        .join();
            }
            GenerationResult again = engine.submit(GenerationRequest.greedy(longPrompt, 1))
                    .result()
                    .join();
            assertThat(again.cachedPromptTokens()).isEqualTo(39);
        }
    }

    @Test
    void theListenerSeesEachTokenAndCanStop() {
        try (Engine engine = engine(decoder())) {
            List<Integer> seen = new ArrayList<>();
            GenerationRequest request = GenerationRequest.greedy(prompt(1, 2), 10)
                    .withIgnoreEndTokens(true)
                    .withListener((sample, token, logprob, alternatives) -> {
                        seen.add(token);
                        return seen.size() < 4;
                    });
            Sequence sequence =
                    engine.submit(request).result().join().sequences().getFirst();
            assertThat(sequence.reason()).isEqualTo(FinishReason.STOP);
            assertThat(Arrays.stream(sequence.tokenIds()).boxed()).containsExactlyElementsOf(seen);
            assertThat(seen).hasSize(4);
        }
    }

    @Test
    void stopTokensEndASampleAndAreNotPartOfIt() {
        try (Engine engine = engine(decoder())) {
            GenerationRequest plain = GenerationRequest.greedy(prompt(1, 2), 10).withIgnoreEndTokens(true);
            int[] tokens =
                    engine.submit(plain).result().join().sequences().getFirst().tokenIds();
            Sequence stopped = engine.submit(plain.withStopTokens(Set.of(tokens[3])))
                    .result()
                    .join()
                    .sequences()
                    .getFirst();
            int first = 0;
            while (tokens[first] != tokens[3]) {
                first++;
            }
            assertThat(stopped.tokenIds()).containsExactly(Arrays.copyOf(tokens, first));
            assertThat(stopped.endToken()).isEqualTo(tokens[3]);
            assertThat(stopped.reason()).isEqualTo(FinishReason.STOP);
        }
    }

    @Test
    void topLogprobsComeLikeliestFirst() {
        try (Engine engine = engine(decoder())) {
            GenerationRequest request = GenerationRequest.greedy(prompt(1, 2), 3)
                    .withIgnoreEndTokens(true)
                    .withTopLogprobs(4);
            Sequence sequence =
                    engine.submit(request).result().join().sequences().getFirst();
            assertThat(sequence.topLogprobs()).hasSize(3).allSatisfy(list -> {
                assertThat(list).hasSize(4);
                assertThat(list.get(0).logprob())
                        .isGreaterThanOrEqualTo(list.get(1).logprob());
            });
            assertThat(sequence.topLogprobs().get(2).getFirst().tokenId()).isEqualTo(sequence.tokenIds()[2]);
        }
    }

    @Test
    void aCancelledRequestKeepsWhatItHasAndFreesItsSlot() throws InterruptedException {
        try (Engine engine = engine(decoder())) {
            CountDownLatch third = new CountDownLatch(3);
            CountDownLatch go = new CountDownLatch(1);
            Generation generation = engine.submit(GenerationRequest.greedy(prompt(1, 2), 60)
                    .withIgnoreEndTokens(true)
                    .withListener((sample, token, logprob, alternatives) -> {
                        third.countDown();
                        return third.getCount() > 0 || await(go);
                    }));
            assertThat(third.await(30, TimeUnit.SECONDS)).isTrue();
            generation.cancel();
            go.countDown();
            Sequence sequence = generation.result().join().sequences().getFirst();
            assertThat(sequence.reason()).isEqualTo(FinishReason.CANCELLED);
            // Not one step more.
            assertThat(sequence.tokenIds().length).isEqualTo(3);
            assertThat(engine.submit(GenerationRequest.greedy(prompt(9), 3).withIgnoreEndTokens(true))
                            .result()
                            .join()
                            .sequences())
                    .hasSize(1);
        }
    }

    @Test
    void aFullQueueRefusesAndAWaitingRequestCanBeCancelled() {
        CountDownLatch go = new CountDownLatch(1);
        CountDownLatch started = new CountDownLatch(1);
        try (Engine engine = new Engine(decoder(), CARD, OPTIONS.withMaxQueue(2))) {
            Generation blocking = engine.submit(GenerationRequest.greedy(prompt(1), 2)
                    .withIgnoreEndTokens(true)
                    .withListener((sample, token, logprob, alternatives) -> {
                        started.countDown();
                        return await(go);
                    }));
            await(started);
            Generation waiting = engine.submit(GenerationRequest.greedy(prompt(2), 2));
            engine.submit(GenerationRequest.greedy(prompt(3), 2));
            assertThatThrownBy(() -> engine.submit(GenerationRequest.greedy(prompt(4), 2)))
                    .isInstanceOf(QueueFullException.class);
            assertThat(engine.statistics().waiting()).isEqualTo(2);
            waiting.cancel();
            go.countDown();
            assertThat(waiting.result().join().sequences().getFirst().reason()).isEqualTo(FinishReason.CANCELLED);
            assertThat(waiting.result().join().sequences().getFirst().tokenIds())
                    .isEmpty();
            assertThat(blocking.result().join().sequences().getFirst().tokenIds())
                    .hasSize(2);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7})
    void aFailedStepFailsItsRequestsAndTheEngineGoesOn(int steps) {
        HashDecoder decoder = decoder();
        try (Engine engine = engine(decoder)) {
            GenerationRequest before = GenerationRequest.greedy(prompt(1, 2, 3, 4, 5, 6, 7, 8, 9), 3)
                    .withIgnoreEndTokens(true);
            engine.submit(before).result().join();
            decoder.failAfter(steps);
            List<GenerationRequest> requests = List.of(
                    before.withSamples(2),
                    GenerationRequest.greedy(prompt(1, 2, 3, 4, 5, 7, 7, 7, 7), 6)
                            .withIgnoreEndTokens(true),
                    GenerationRequest.of(prompt(5), 8, Sampling.ofTemperature(1), 3)
                            .withIgnoreEndTokens(true)
                            .withSamples(4));
            List<Generation> generations = requests.stream().map(engine::submit).toList();
            int failed = 0;
            for (int i = 0; i < requests.size(); i++) {
                try {
                    GenerationResult result = generations.get(i).result().join();
                    for (int sample = 0; sample < requests.get(i).samples(); sample++) {
                        assertSame(result.sequences().get(sample), expected(requests.get(i), sample));
                    }
                } catch (CompletionException e) {
                    assertThat(e.getCause())
                            .isInstanceOf(GenerationException.class)
                            .hasMessageContaining("the device gave up");
                    failed++;
                }
            }
            assertThat(failed).isBetween(1, 3);
            assertThat(engine.statistics().failedSteps()).isEqualTo(1);
            assertSame(engine.submit(before).result().join().sequences().getFirst(), expected(before, 0));
        }
    }

    @Test
    void anEngineThatCouldNotBePreparedAnswersAllTheSame() {
        try (Engine engine = engine(decoder().withoutPreparation())) {
            GenerationRequest request =
                    GenerationRequest.greedy(prompt(1, 2, 3, 4, 5), 6).withIgnoreEndTokens(true);
            assertSame(engine.submit(request).result().join().sequences().getFirst(), expected(request, 0));
            assertThat(engine.statistics().failedSteps()).isZero();
        }
    }

    @Test
    void anEngineThatRunsOutOfMemoryGoesOn() {
        HashDecoder decoder = decoder();
        try (Engine engine = engine(decoder)) {
            GenerationRequest request =
                    GenerationRequest.greedy(prompt(1, 2, 3, 4, 5), 6).withIgnoreEndTokens(true);
            for (int step : new int[] {0, 1, 3}) {
                decoder.failAfter(step, new OutOfMemoryError("no 1024 bytes of device memory"));
                Generation generation = engine.submit(request);
                assertThatThrownBy(() -> generation.result().join())
                        .hasCauseInstanceOf(GenerationException.class)
                        .hasMessageContaining("no 1024 bytes of device memory");
                assertSame(engine.submit(request).result().join().sequences().getFirst(), expected(request, 0));
            }
            assertThat(engine.statistics().failedSteps()).isEqualTo(3);
            assertThat(engine.statistics().alive()).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5})
    void logitsThatAreNoNumbersFailTheirRequestAndAreNotContinuedFrom(int step) {
        HashDecoder decoder = decoder();
        try (Engine engine = new Engine(decoder, CARD, OPTIONS.withPrefillChunk(100))) {
            GenerationRequest request =
                    GenerationRequest.greedy(prompt(1, 2, 3, 4, 5), 6).withIgnoreEndTokens(true);
            GenerationRequest other =
                    GenerationRequest.greedy(prompt(9, 8, 7), 6).withIgnoreEndTokens(true);
            decoder.failAfter(step, null);
            Generation generation = engine.submit(request);
            Generation beside = engine.submit(other);
            List<Generation> failed = new ArrayList<>();
            for (Generation each : List.of(generation, beside)) {
                try {
                    GenerationRequest its = each == generation ? request : other;
                    assertSame(each.result().join().sequences().getFirst(), expected(its, 0));
                } catch (CompletionException e) {
                    assertThat(e.getCause())
                            .isInstanceOf(GenerationException.class)
                            .hasMessageContaining("not finite");
                    failed.add(each);
                }
            }
            assertThat(failed).hasSize(1);
            assertSame(engine.submit(request).result().join().sequences().getFirst(), expected(request, 0));
            assertSame(engine.submit(other).result().join().sequences().getFirst(), expected(other, 0));
        }
    }

    @Test
    void aFailureOutsideTheModelsStepsFailsWhatRunsAndTheEngineGoesOn() {
        HashDecoder decoder = decoder();
        try (Engine engine = engine(decoder)) {
            CountDownLatch go = new CountDownLatch(1);
            // The first of three ends first, so that the others have to move.
            GenerationRequest brief = GenerationRequest.greedy(prompt(1), 1)
                    .withIgnoreEndTokens(true)
                    .withListener((sample, token, logprob, alternatives) -> await(go));
            GenerationRequest longer =
                    GenerationRequest.greedy(prompt(2, 3), 30).withIgnoreEndTokens(true);
            List<Generation> generations = new ArrayList<>();
            generations.add(engine.submit(brief.withListener((sample, token, logprob, alternatives) -> await(go))));
            generations.add(engine.submit(longer));
            decoder.failNextMove();
            go.countDown();
            List<Throwable> failures = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                generations.add(engine.submit(
                        GenerationRequest.greedy(prompt(4, 5, i), 3 + i % 3).withIgnoreEndTokens(true)));
            }
            for (Generation generation : generations) {
                try {
                    generation.result().join();
                } catch (CompletionException e) {
                    failures.add(e.getCause());
                }
            }
            assertThat(failures)
                    .isNotEmpty()
                    .allSatisfy(failure -> assertThat(failure)
                            .isInstanceOf(GenerationException.class)
                            .hasMessageContaining("the copy failed"));
            assertThat(engine.statistics().alive()).isTrue();
            assertSame(engine.submit(longer).result().join().sequences().getFirst(), expected(longer, 0));
        }
    }

    @Test
    void eachTurnTellsHowManyTokensItProcessed() {
        List<Integer> turns = new ArrayList<>();
        Engine engine = new Engine(decoder(), CARD, OPTIONS, turns::add);
        engine.submit(GenerationRequest.greedy(prompt(1, 2, 3, 4, 5, 6), 3).withIgnoreEndTokens(true))
                .result()
                .join();
        engine.close();
        // Chunks of 4 and 2 of the prompt, the second together with the first decoding step.
        assertThat(turns).containsExactly(4, 3, 1);
    }

    @Test
    void theHeartbeatShowsATurnThatHangs() throws InterruptedException {
        try (Engine engine = engine(decoder())) {
            assertThat(engine.statistics().alive()).isTrue();
            CountDownLatch began = new CountDownLatch(1);
            CountDownLatch go = new CountDownLatch(1);
            Generation generation = engine.submit(GenerationRequest.greedy(prompt(1), 1)
                    .withIgnoreEndTokens(true)
                    .withListener((sample, token, logprob, alternatives) -> {
                        began.countDown();
                        return await(go);
                    }));
            assertThat(began.await(30, TimeUnit.SECONDS)).isTrue();
            assertThat(engine.statistics().turnSoFar()).isPositive();
            go.countDown();
            generation.result().join();
            while (!engine.statistics().turnSoFar().isZero()) {
                Thread.onSpinWait();
            }
        }
    }

    @Test
    void aFailingListenerFailsOnlyItsOwnRequest() {
        try (Engine engine = engine(decoder())) {
            GenerationRequest good =
                    GenerationRequest.greedy(prompt(1, 2, 3), 20).withIgnoreEndTokens(true);
            AtomicInteger calls = new AtomicInteger();
            Generation first = engine.submit(good);
            Generation bad = engine.submit(good.withSamples(2).withListener((sample, token, logprob, alternatives) -> {
                if (calls.incrementAndGet() == 5) {
                    throw new IllegalStateException("no");
                }
                return true;
            }));
            assertSame(first.result().join().sequences().getFirst(), expected(good, 0));
            assertThatThrownBy(() -> bad.result().join())
                    .hasCauseInstanceOf(GenerationException.class)
                    .hasMessageContaining("listener");
        }
    }

    @Test
    void unfitRequestsAreRefused() {
        try (Engine engine = engine(decoder())) {
            assertThatThrownBy(() -> engine.submit(GenerationRequest.greedy(new int[60], 5)))
                    .isInstanceOf(ContextLengthException.class)
                    .hasMessageContaining("64");
            assertThatThrownBy(() -> engine.submit(GenerationRequest.greedy(prompt(40), 5)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("token 40");
            assertThat(engine.submit(GenerationRequest.greedy(new int[60], 4).withIgnoreEndTokens(true))
                            .result()
                            .join()
                            .sequences()
                            .getFirst()
                            .tokenIds())
                    .hasSize(4);
        }
    }

    @Test
    void closingFailsWhatIsUnfinishedAndRefusesMore() {
        CountDownLatch submitted = new CountDownLatch(1);
        AtomicReference<Engine> itself = new AtomicReference<>();
        HashDecoder decoder = decoder();
        Engine engine = engine(decoder);
        itself.set(engine);
        Generation runningOne = engine.submit(GenerationRequest.greedy(prompt(1), 50)
                .withIgnoreEndTokens(true)
                .withListener((sample, token, logprob, alternatives) -> {
                    await(submitted);
                    itself.get().close();
                    return true;
                }));
        Generation waitingOne =
                engine.submit(GenerationRequest.greedy(prompt(2), 2).withSamples(3));
        submitted.countDown();
        assertThatThrownBy(() -> runningOne.result().join()).hasCauseInstanceOf(ModelClosedException.class);
        assertThatThrownBy(() -> waitingOne.result().join()).hasCauseInstanceOf(ModelClosedException.class);
        engine.close();
        assertThat(decoder.closed()).isTrue();
        assertThatThrownBy(() -> engine.submit(GenerationRequest.greedy(prompt(1), 1)))
                .isInstanceOf(IllegalStateException.class);
    }

    private static boolean await(CountDownLatch latch) {
        try {
            return latch.await(30, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
