package org.harnesslearning.executor.gym;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.GenerateRequest;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.executor.sandbox.DockerEngine;
import org.harnesslearning.executor.sandbox.SandboxFaultException;
import org.harnesslearning.executor.sandbox.SandboxSettings;
import org.harnesslearning.tasks.Families;
import org.harnesslearning.tasks.Family;
import org.harnesslearning.tasks.ReasoningGym;
import org.harnesslearning.tasks.Score;
import org.harnesslearning.tasks.Scorer;
import org.harnesslearning.tasks.Scorers;
import org.harnesslearning.tasks.ScoringException;
import org.harnesslearning.tasks.SplitSizes;
import org.harnesslearning.tasks.TaskItems;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresShared;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

@RequiresDocker
class GymTests {
    private static SandboxSettings sandbox;
    private static DockerEngine engine;
    private static Gym gym;

    @BeforeAll
    static void start() {
        sandbox = TestSandboxes.settings(Map.of("executor.sandbox.cpus", "2"));
        engine = DockerEngine.connect(sandbox, Clock.systemUTC(), "test");
        gym = gym();
    }

    @AfterAll
    static void stop() {
        gym.close();
        assertThat(TestSandboxes.containersOf(sandbox.owner())).isEmpty();
        engine.close();
    }

    private static Gym gym() {
        return new Gym(engine, settings(6), Clock.systemUTC());
    }

    private static GymSettings settings(int maxStarts) {
        return new GymSettings(
                null,
                SharedData.root().resolve("harness-executor/gym-image/build.sh").toString(),
                Duration.ofMinutes(20),
                1024,
                Duration.ofMinutes(5),
                16,
                Duration.ofHours(2),
                maxStarts,
                Duration.ofMinutes(10));
    }

    private static List<Item> items(Gym gym, String family, long seed, int count) {
        return gym.generate(new GenerateRequest(family, Map.of(), seed, 0, count))
                .items();
    }

    private static Scorer scorer(String family) {
        return Scorers.own().with(gym.scorerFactory()).forRef(ReasoningGym.scorer(Families.get(family), Map.of()));
    }

    private static double score(String family, Item item, String answer) {
        return scorer(family).score(item, answer).value();
    }

    @Test
    @RequiresShared
    void all_sample_questions_are_reproduced_and_all_their_gold_answers_score_one() throws IOException {
        Map<String, List<JsonNode>> samples = new LinkedHashMap<>();
        for (String file : List.of("train_seed42.jsonl", "unseen_seed42.jsonl")) {
            Path path = SharedData.shared()
                    .orElseThrow()
                    .resolve("data/reasoning-gym")
                    .resolve(file);
            for (String line : Files.readAllLines(path)) {
                JsonNode row = Json.mapper().readTree(line);
                samples.computeIfAbsent(row.get("family").stringValue(), family -> new ArrayList<>())
                        .add(row);
            }
        }
        assertThat(samples)
                .containsOnlyKeys(Families.all().stream().map(Family::name).toList());
        int scored = 0;
        // Two at a time, as the machine has two processors at least.
        try (ExecutorService two = Executors.newFixedThreadPool(2)) {
            List<CompletableFuture<List<Score>>> scores = samples.entrySet().stream()
                    .map(sample -> CompletableFuture.supplyAsync(() -> golds(sample.getKey(), sample.getValue()), two))
                    .toList();
            for (CompletableFuture<List<Score>> ofFamily : scores) {
                assertThat(ofFamily.join()).hasSize(20).allMatch(Score::strict);
                scored += ofFamily.join().size();
            }
        }
        assertThat(scored).isEqualTo(940);
    }

    private static List<Score> golds(String family, List<JsonNode> rows) {
        List<Item> items = items(gym, family, 42, rows.size());
        List<Gym.Answer> answers = new ArrayList<>();
        for (JsonNode row : rows) {
            Item item = items.get(row.get("index").intValue());
            assertThat(item.question()).as(family).isEqualTo(row.get("question").stringValue());
            answers.add(new Gym.Answer(item, row.get("answer").stringValue()));
        }
        return gym.score(family, Map.of(), answers);
    }

    @Test
    void every_family_generates_the_same_items_in_every_container() {
        try (Gym other = gym()) {
            for (Family family : Families.all()) {
                List<Item> items = items(gym, family.name(), 7, 3);
                assertThat(items).hasSize(3).allMatch(item -> !item.question().isBlank());
                // The later item first: what came before must not matter.
                Item last = other.generate(new GenerateRequest(family.name(), Map.of(), 7, 2, 1))
                        .items()
                        .getFirst();
                assertThat(last).as(family.name()).isEqualTo(items.get(2));
            }
        }
    }

    @Test
    void a_killed_container_is_replaced_and_gives_the_same_items() {
        Gym own = gym();
        try (own) {
            List<Item> before = items(own, "word_ladder", 5, 3);
            String killed = own.containerId();
            TestSandboxes.client().killContainerCmd(killed).exec();
            assertThat(items(own, "word_ladder", 5, 3)).isEqualTo(before);
            assertThat(own.containerId()).isNotEqualTo(killed);
            assertThat(TestSandboxes.containersOf(sandbox.owner())).doesNotContain(killed);
        }
        assertThatThrownBy(() -> items(own, "word_ladder", 5, 3))
                .isInstanceOfSatisfying(
                        PlatformException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.SANDBOX_UNAVAILABLE));
    }

    @Test
    void starts_are_bounded_and_a_dead_container_is_never_a_score() {
        try (Gym own = new Gym(engine, settings(1), Clock.systemUTC())) {
            Item item = items(own, "chain_sum", 1, 1).getFirst();
            TestSandboxes.client().killContainerCmd(own.containerId()).exec();
            Scorer scorer = own.scorerFactory().create(Map.of("family", "chain_sum", "config", Map.of()));
            assertThatThrownBy(() -> scorer.score(item, item.answers().getFirst()))
                    .isInstanceOf(ScoringException.class)
                    .hasMessageContaining("keep ending");
        }
    }

    @Test
    void a_missing_image_is_an_infrastructure_failure() {
        GymSettings missing = new GymSettings(
                "harness-gym:no-such-tag",
                "",
                Duration.ofMinutes(1),
                1024,
                Duration.ofMinutes(1),
                1,
                Duration.ofHours(1),
                3,
                Duration.ofMinutes(1));
        try (Gym own = new Gym(engine, missing, Clock.systemUTC())) {
            assertThatThrownBy(() -> items(own, "chain_sum", 1, 1))
                    .isInstanceOf(PlatformException.class)
                    .hasCauseInstanceOf(SandboxFaultException.class)
                    .hasMessageContaining("no-such-tag");
        }
    }

    @Test
    void splits_come_from_three_seeds_and_do_not_overlap() {
        // tower_of_hanoi repeats questions.
        TaskItems items = ReasoningGym.split(
                42,
                new SplitSizes(4, 6, 8),
                (seed, start, count) -> gym.generate(
                                new GenerateRequest("tower_of_hanoi", Map.of(), seed, start, count))
                        .items());
        assertThat(items.all().stream().map(Item::question).distinct()).hasSize(18);
        assertThat(items.heldOut())
                .allMatch(item -> item.origin() != null && item.origin().seed() == 2042);
    }

    @ParameterizedTest
    @ValueSource(strings = {"n_queens", "spiral_matrix", "binary_matrix", "string_insertion", "countdown"})
    void an_answer_that_attacks_its_scorer_earns_nothing_and_spoils_nothing(String family) {
        Item item = items(gym, family, 42, 1).getFirst();
        List<String> attacks = List.of(
                "__import__('os').system('kill -9 -1')",
                "__import__('os').kill(__import__('os').getppid(), 9)",
                "[c for c in ().__class__.__base__.__subclasses__()]",
                "(lambda f: f(f))(lambda f: f(f))",
                "[0 for x in iter(int, 1)]",
                "9**9**9**9",
                "'a'*10**10",
                "[0]*10**10",
                "(".repeat(50_000) + ")".repeat(50_000),
                "[".repeat(100_000),
                "-".repeat(90_000) + "1",
                "1+".repeat(40_000) + "1",
                "9".repeat(90_000),
                "99999*".repeat(10_000) + "9",
                "x".repeat(1_000_000),
                "\u0000\uFFFF",
                "");
        List<Gym.Answer> answers = new ArrayList<>();
        attacks.forEach(attack -> answers.add(new Gym.Answer(item, attack)));
        answers.add(new Gym.Answer(item, item.answers().getFirst()));
        List<Score> scores = gym.score(family, Map.of(), answers);
        // The library pays 0.01 for an unreadable countdown answer.
        assertThat(scores.subList(0, attacks.size())).allMatch(score -> score.value() <= 0.01);
        assertThat(scores.getLast().strict()).isTrue();
    }

    @Test
    void an_answer_that_exhausts_its_scorer_is_worth_nothing_rather_than_unscored() {
        Item item = items(gym, "coin_flip", 42, 1).getFirst();
        assertThat(score("coin_flip", item, "1e99999999")).isZero();
        assertThat(score("coin_flip", item, item.answers().getFirst())).isOne();
    }

    @ParameterizedTest
    @CsvSource({
        "complex_arithmetic, nan",
        "complex_arithmetic, nan+nanj",
        "complex_arithmetic, inf",
        "coin_flip, 0",
        "coin_flip, 0.",
        "coin_flip, -0"
    })
    void answers_that_the_library_would_wrongly_pay_in_full_are_not(String family, String answer) {
        for (Item item : items(gym, family, 42, 3)) {
            assertThat(scorer(family).score(item, answer).strict()).isFalse();
        }
    }

    @Test
    void partial_credit_is_kept_apart_from_the_strict_rate() {
        Item item = items(gym, "spiral_matrix", 42, 1).getFirst();
        String list = "[" + item.answers().getFirst().replace(" ", ", ") + "]";
        Score score = scorer("spiral_matrix").score(item, list);
        assertThat(score.value()).isEqualTo(0.1);
        assertThat(score.strict()).isFalse();
    }

    @Test
    void a_question_that_is_built_again_elsewhere_and_in_another_order_is_the_same() {
        List<Item> items = items(gym, "list_functions", 1_003_101, 24);
        try (Gym other = gym()) {
            for (int index : new int[] {23, 5, 11, 0}) {
                Item again = other.generate(new GenerateRequest("list_functions", Map.of(), 1_003_101, index, 1))
                        .items()
                        .getFirst();
                assertThat(again.question()).isEqualTo(items.get(index).question());
            }
            Scorer scorer = Scorers.own()
                    .with(other.scorerFactory())
                    .forRef(ReasoningGym.scorer(Families.get("list_functions"), Map.of()));
            for (Item item : items) {
                assertThat(scorer.score(item, item.answers().getFirst()).strict())
                        .isTrue();
            }
        }
    }

    @Test
    void an_answer_is_never_scored_against_another_question() {
        Item item = items(gym, "chain_sum", 42, 1).getFirst();
        Item other = new Item(Hashes.item("other"), "other", item.answers(), item.origin());
        assertThatThrownBy(() -> score("chain_sum", other, item.answers().getFirst()))
                .isInstanceOf(ScoringException.class)
                .hasMessageContaining("another question");
    }

    @Test
    void requests_of_many_threads_do_not_mix() {
        List<String> families = List.of(
                "chain_sum",
                "base_conversion",
                "caesar_cipher",
                "dice",
                "ab",
                "jugs",
                "survo",
                "bitwise_arithmetic",
                "simple_equations",
                "number_sequence");
        try (ExecutorService pool = Executors.newVirtualThreadPerTaskExecutor()) {
            List<CompletableFuture<Boolean>> all = IntStream.range(0, 40)
                    .mapToObj(i -> CompletableFuture.supplyAsync(
                            () -> {
                                String family = families.get(i % families.size());
                                Item item = items(gym, family, 100 + i % 3, 1).getFirst();
                                return score(family, item, item.answers().getFirst()) == 1.0;
                            },
                            pool))
                    .toList();
            assertThat(all).allMatch(CompletableFuture::join);
        }
    }

    @Test
    void a_configuration_is_used_and_a_bad_one_is_refused_with_the_librarys_words() {
        Item item = gym.generate(new GenerateRequest(
                        "chain_sum", Map.of("min_terms", 8, "max_terms", 8, "min_digits", 1, "max_digits", 1), 1, 0, 1))
                .items()
                .getFirst();
        assertThat(item.question()).containsPattern("(\\d [+-] ){7}\\d");

        assertThat(refused(Map.of("min_terms", -1)).getMessage()).contains("min_terms must be positive");
        assertThat(refused(Map.of("min_trems", 2)).getMessage()).contains("min_trems");
        assertThat(refused(Map.of("min_terms", "two")).getMessage()).isNotBlank();
        assertThat(refused(Map.of("size", 3)).getMessage()).contains("size");
    }

    private static PlatformException refused(Map<String, Object> config) {
        PlatformException e = catchThrowableOfType(
                PlatformException.class, () -> gym.generate(new GenerateRequest("chain_sum", config, 1, 0, 1)));
        assertThat(e.code()).as(e.getMessage()).isEqualTo(ErrorCode.INVALID_FIELD);
        assertThat(e.errors().getFirst().pointer()).isEqualTo("/task/reasoning_gym/config");
        return e;
    }

    @Test
    void unknown_families_seeds_and_indices_are_refused() {
        assertThatThrownBy(() -> items(gym, "rubiks_cube", 1, 1))
                .isInstanceOfSatisfying(
                        PlatformException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNKNOWN_FAMILY));
        assertThatThrownBy(() -> items(gym, "chain_sum", -1, 1)).isInstanceOf(PlatformException.class);
        assertThatThrownBy(() -> items(gym, "chain_sum", 1, 20_001)).isInstanceOf(PlatformException.class);
        assertThatThrownBy(() -> Scorers.own().with(gym.scorerFactory()).ref("reasoning_gym", Map.of("family", "x")))
                .isInstanceOf(PlatformException.class);
    }
}
