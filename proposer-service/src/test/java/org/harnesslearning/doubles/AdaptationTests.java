package org.harnesslearning.doubles;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

@RequiresPostgres
class AdaptationTests {
    private static Platform platform;

    @BeforeAll
    static void start() {
        platform = new Platform();
    }

    @AfterAll
    static void stop() {
        platform.close();
    }

    @AfterEach
    void reset() {
        platform.undisturbed();
    }

    private JsonNode run(Map<String, Object> request) {
        Api.Answer answer = platform.api.post("/adapt", Platform.body(request), "Prefer", "wait=60");
        assertThat(answer.status()).as(answer.body()).isEqualTo(200);
        return answer.json();
    }

    private static Map<String, String> mixedReplies() {
        Map<String, String> replies = new LinkedHashMap<>();
        replies.put("1/0", Platform.edit("level: 0.0", "level: 0.5"));
        replies.put("1/1", "no block here");
        replies.put("1/2", Platform.edit("level: 0.0", "level: 0.5"));
        replies.put("2/0", Platform.edit("level: 0.5", "level: 1.0"));
        replies.put("2/1", Platform.edit("level: 0.5", "check: SYNTAX_ERROR"));
        replies.put("2/2", Platform.edit("level: 0.5", "ends: TIMEOUT"));
        return replies;
    }

    @Test
    void a_full_run_improves_the_harness_and_its_counts_add_up() {
        String model = platform.model(mixedReplies());
        JsonNode run = run(platform.request(model, Map.of("gate", Map.of("min_gain", 0.5))));

        assertThat(run.get("state").asString()).isEqualTo("succeeded");
        assertThat(run.get("stop_reason").asString()).isEqualTo("rounds_done");
        JsonNode counts = run.get("counts");
        assertThat(counts.get("attempted").asInt()).isEqualTo(6);
        assertThat(counts.get("scored").asInt()).isEqualTo(3);
        assertThat(counts.get("invalid").asInt()).isEqualTo(3);
        assertThat(counts.get("duplicates").asInt()).isEqualTo(1);
        assertThat(counts.get("by_code").toString()).isEqualTo("{\"NO_BLOCK\":1,\"SYNTAX_ERROR\":1,\"TIMEOUT\":1}");
        assertThat(run.at("/rounds/0/candidates/2/duplicate_of").asString()).isEqualTo("1/0");
        String result = Hashes.harness(Platform.SEED.replace("level: 0.0", "level: 1.0"));
        assertThat(run.at("/result/harness").asString()).isEqualTo(result);
        assertThat(run.at("/result/held_out/seed/mean").asDouble()).isZero();
        assertThat(run.at("/result/held_out/result/mean").asDouble()).isEqualTo(1);
        assertThat(run.at("/result/held_out/gain/mean").asDouble()).isEqualTo(1);
        assertThat(run.at("/result/noise/mean_abs_diff").asDouble()).isZero();
        assertThat(run.at("/result/gate").asString()).isEqualTo("passed");
        assertThat(run.get("lineage_hash").asString()).startsWith("sha256:");
        assertThat(run.at("/progress/done").asLong())
                .isEqualTo(run.at("/progress/planned").asLong());
        // Baseline 4; feedback 2 + 2; dev 4 of 1/0, 4 of 2/0, 4 of 2/2; held-out 5 + 5 + 5.
        assertThat(run.at("/usage/solver/calls").asLong()).isEqualTo(4 + 2 + 4 + 2 + 4 + 4 + 15);
        assertThat(run.at("/usage/proposer/calls").asLong()).isEqualTo(6);
        assertThat(run.at("/usage/proposer/prompt_tokens").asLong()).isEqualTo(200);
        assertThat(run.at("/usage/repeated").asLong()).isZero();
    }

    @Test
    void a_candidate_shows_its_reply_diff_and_questions() {
        JsonNode run = run(platform.request(platform.model(mixedReplies()), Map.of("rounds", 1)));

        Api.Answer answer = platform.api.get("/adaptations/" + run.get("id").asString() + "/rounds/1/candidates/0");
        assertThat(answer.json().get("reply").asString()).contains("REPLACE");
        assertThat(answer.json().get("questions")).hasSize(4);
        assertThat(answer.json().get("diff").asString()).contains("+    # level: 0.5");
        assertThat(platform.api
                        .get("/adaptations/" + run.get("id").asString() + "/rounds/1/candidates/9")
                        .status())
                .isEqualTo(404);
    }

    @Test
    void keep_incumbent_refuses_a_worse_round_and_best_of_round_takes_it() {
        Map<String, String> replies = Map.of(
                "1/0", Platform.edit("level: 0.6", "level: 0.3"),
                "1/1", Platform.edit("level: 0.6", "level: 0.6\n    # same score"));
        Map<String, Object> fields =
                Map.of("harness", Map.of("source", Platform.SEED.replace("0.0", "0.6")), "rounds", 1, "candidates", 1);
        Map<String, Object> best = new LinkedHashMap<>(fields);
        best.put("selection", "best_of_round");
        Map<String, Object> tie = new LinkedHashMap<>(fields);
        tie.put("candidates", 2);

        assertThat(run(platform.request(platform.model(replies), fields)).at("/rounds/0/chosen"))
                .isEqualTo(
                        run(platform.request(platform.model(replies), fields)).at("/rounds/0/parent"));
        JsonNode worse = run(platform.request(platform.model(replies), best));
        assertThat(worse.at("/rounds/0/chosen")).isEqualTo(worse.at("/rounds/0/candidates/0/harness"));
        JsonNode tied = run(platform.request(platform.model(replies), tie));
        assertThat(tied.at("/rounds/0/chosen")).isEqualTo(tied.at("/rounds/0/parent"));
    }

    @Test
    void a_run_without_any_valid_edit_keeps_the_seed_and_says_so() {
        JsonNode run = run(platform.request(platform.model(Map.of()), Map.of("gate", Map.of("min_gain", 0))));

        assertThat(run.at("/result/harness").asString()).isEqualTo(Hashes.harness(Platform.SEED));
        assertThat(run.at("/result/held_out/gain/mean").asDouble()).isZero();
        assertThat(run.at("/result/gate").asString()).isEqualTo("failed");
        String report = platform.api
                .get("/adaptations/" + run.get("id").asString() + "/report?format=markdown")
                .body();
        assertThat(report).contains("did not improve");
    }

    @Test
    void an_edit_back_to_an_earlier_harness_is_not_run_again() {
        Map<String, String> replies = Map.of(
                "1/0", Platform.edit("level: 0.0", "level: 0.5"),
                "2/0", Platform.edit("level: 0.5", "level: 0.0"),
                "2/1", Platform.edit("level: 0.5", "level: 0.5"));
        JsonNode run = run(platform.request(platform.model(replies), Map.of("candidates", 2)));

        assertThat(run.at("/rounds/1/candidates/0/duplicate_of").asString()).isEqualTo("0/0");
        assertThat(run.at("/rounds/1/candidates/1/code").asString()).isEqualTo("NO_CHANGE");
        assertThat(run.at("/usage/solver/calls").asLong()).isEqualTo(4 + 2 + 4 + 2 + 15);
    }

    @Test
    void equal_seeds_and_recorded_replies_give_an_equal_lineage_and_never_pass_a_gate() {
        String model = platform.model(ModelInfo.Kind.RECORDED, mixedReplies());
        Map<String, Object> request = platform.request(model, Map.of("gate", Map.of("min_gain", 0.1)));
        JsonNode first = run(request);
        JsonNode second = run(request);
        Map<String, Object> other = new LinkedHashMap<>(request);
        other.put("seed", 2);

        assertThat(first.get("id")).isNotEqualTo(second.get("id"));
        assertThat(first.get("lineage_hash")).isEqualTo(second.get("lineage_hash"));
        assertThat(run(other).get("lineage_hash")).isNotEqualTo(first.get("lineage_hash"));
        assertThat(first.get("recorded").asBoolean()).isTrue();
        assertThat(first.at("/result/gate").asString()).isEqualTo("failed");
        // All questions were in the cache: nothing was paid twice.
        assertThat(second.at("/usage/solver/calls").asLong()).isZero();
    }

    @Test
    void candidates_share_a_call_by_demonstration_and_each_has_its_own_seed() {
        String model = platform.model(mixedReplies());
        Map<String, Object> proposer = Map.of("model", model, "demonstrations", "default");
        JsonNode run = run(platform.request(model, Map.of("proposer", proposer, "candidates", 4, "rounds", 1)));

        List<String> positions = new ArrayList<>();
        platform.model.requests.stream()
                .filter(request -> request.model().equals(model))
                .forEach(request -> {
                    positions.add(request.metadata().get("positions"));
                    assertThat(request.n()).isEqualTo(request.seeds().size());
                    assertThat(new HashSet<>(request.seeds())).hasSameSizeAs(request.seeds());
                });
        assertThat(String.join(",", positions).split(",")).containsExactlyInAnyOrder("1/0", "1/1", "1/2", "1/3");
        assertThat(run.at("/rounds/0/candidates/0/demonstration").isNull()).isFalse();
        assertThat(run.at("/result/held_out/demonstration/name").isNull()).isFalse();
    }

    @Test
    void an_infrastructure_failure_is_counted_apart_and_never_scored() {
        Map<String, String> replies = Map.of(
                "1/0", Platform.edit("level: 0.0", "fault: SANDBOX_FAULT"),
                "1/1", Platform.edit("level: 0.0", "level: 0.5"));
        JsonNode run = run(platform.request(platform.model(replies), Map.of("rounds", 1, "candidates", 2)));

        assertThat(run.at("/rounds/0/candidates/0/outcome").asString()).isEqualTo("infra_failure");
        assertThat(run.at("/rounds/0/candidates/0/code").asString()).isEqualTo("SANDBOX_FAULT");
        assertThat(run.at("/rounds/0/candidates/0/score").isNull()).isTrue();
        assertThat(run.at("/counts/infra_failure").asInt()).isEqualTo(1);
        assertThat(run.at("/counts/attempted").asInt()).isEqualTo(2);
        assertThat(run.at("/rounds/0/chosen")).isEqualTo(run.at("/rounds/0/candidates/1/harness"));
    }

    @Test
    void a_failing_provider_pauses_the_run_without_using_up_a_round() {
        String model = platform.model(Map.of("1/0", Platform.edit("level: 0.0", "level: 0.5")));
        platform.model.fail(3);
        Api.Answer order = platform.api.post(
                "/adapt", Platform.body(platform.request(model, Map.of("rounds", 1, "candidates", 1))));
        String id = order.json().get("id").asString();
        JsonNode paused =
                platform.api.await(id, run -> run.get("state").asString().equals("paused"));

        assertThat(paused.get("message").asString()).contains("PROPOSER_UNAVAILABLE");
        assertThat(paused.at("/counts/attempted").asInt()).isZero();
        assertThat(platform.api.post("/adaptations/" + id + "/resume", "").status())
                .isEqualTo(202);
        JsonNode done = platform.api.await(id, Api::ended);
        assertThat(done.get("state").asString()).isEqualTo("succeeded");
        assertThat(done.at("/counts/scored").asInt()).isEqualTo(1);
        assertThat(done.at("/usage/proposer/calls").asInt()).isEqualTo(1);
        assertThat(done.at("/usage/repeated").asInt()).isZero();
    }

    @Test
    void an_executor_outage_pauses_the_run_and_resuming_finishes_it() throws Exception {
        String model = platform.model(Map.of("1/0", Platform.edit("level: 0.0", "level: 0.5")));
        platform.model.hold("1/0");
        String id = platform.api
                .post("/adapt", Platform.body(platform.request(model, Map.of("rounds", 1, "candidates", 1))))
                .json()
                .get("id")
                .asString();
        platform.model.awaitHeld();
        platform.executor.outage(new PlatformException(ErrorCode.SANDBOX_UNAVAILABLE, "no Docker"));
        platform.model.release();
        platform.api.await(id, run -> run.get("state").asString().equals("paused"));
        platform.executor.outage(null);
        platform.api.post("/adaptations/" + id + "/resume", "");

        assertThat(platform.api.await(id, Api::ended).at("/counts/scored").asInt())
                .isEqualTo(1);
    }

    @Test
    void a_full_executor_is_waited_for_and_costs_no_try() throws Exception {
        String model = platform.model(Map.of("1/0", Platform.edit("level: 0.0", "level: 0.5")));
        platform.model.hold("1/0");
        String id = platform.api
                .post("/adapt", Platform.body(platform.request(model, Map.of("rounds", 1, "candidates", 1))))
                .json()
                .get("id")
                .asString();
        platform.model.awaitHeld();
        platform.executor.full(7);
        platform.model.release();
        JsonNode done = platform.api.await(id, Api::ended);

        assertThat(done.get("state").asString()).isEqualTo("succeeded");
        assertThat(done.at("/counts/scored").asInt()).isEqualTo(1);
        assertThat(done.at("/counts/infra_failure").asInt()).isZero();
        assertThat(done.at("/usage/repeated").asInt()).isZero();
    }

    @Test
    void a_budget_that_ends_in_a_round_still_measures_the_result() throws Exception {
        Map<String, String> replies = Map.of(
                "1/0", Platform.edit("level: 0.0", "level: 0.5"),
                "1/1", Platform.edit("level: 0.0", "level: 0.5\n    # calls: 40"),
                "2/0", Platform.edit("level: 0.5", "level: 1.0"));
        // Both are evaluated at once: the greedy one waits until the other one has its calls.
        platform.executor.hold(id -> id.contains("/r1/c1/dev/0#0"));
        String id = platform.api
                .post(
                        "/adapt",
                        Platform.body(platform.request(
                                platform.model(replies),
                                Map.of("candidates", 2, "budget", Map.of("solver_calls", 60)))))
                .json()
                .get("id")
                .asString();
        platform.executor.awaitHeld();
        platform.api.await(
                id,
                state -> state.at("/rounds/0/candidates/0/outcome").asString("").equals("scored"));
        platform.executor.release();
        JsonNode run = platform.api.await(id, Api::ended);

        assertThat(run.get("state").asString()).isEqualTo("succeeded");
        assertThat(run.get("stop_reason").asString()).isEqualTo("budget");
        assertThat(run.at("/rounds/0/candidates/1/outcome").asString()).isEqualTo("not_finished");
        assertThat(run.at("/counts/not_finished").asInt()).isEqualTo(1);
        assertThat(run.at("/counts/attempted").asInt()).isEqualTo(1);
        assertThat(run.at("/rounds/0/chosen")).isEqualTo(run.at("/rounds/0/candidates/0/harness"));
        assertThat(run.at("/result/held_out/seed/n").asInt()).isEqualTo(5);
        assertThat(run.at("/result/held_out/result/n").asInt()).isEqualTo(5);
        assertThat(run.at("/usage/solver/calls").asLong()).isLessThanOrEqualTo(60);
    }

    @Test
    void every_size_of_budget_ends_with_what_is_finished() {
        for (int calls : List.of(31, 33, 36, 39, 42)) {
            Map<String, String> replies = Map.of(
                    "1/0", Platform.edit("level: 0.0", "level: 0.5\n    # calls: 2"),
                    "1/1", Platform.edit("level: 0.0", "level: 0.2"),
                    "2/0", Platform.edit("level: 0.5", "level: 1.0"));
            JsonNode run = run(platform.request(
                    platform.model(replies), Map.of("candidates", 2, "budget", Map.of("solver_calls", calls))));

            assertThat(run.get("state").asString()).as("budget %d", calls).isEqualTo("succeeded");
            assertThat(run.at("/usage/solver/calls").asLong()).isLessThanOrEqualTo(calls);
            JsonNode counts = run.get("counts");
            assertThat(counts.get("attempted").asInt())
                    .isEqualTo(counts.get("scored").asInt()
                            + counts.get("invalid").asInt()
                            + counts.get("infra_failure").asInt());
            assertThat(run.at("/result/held_out/seed/n").asInt()).isEqualTo(5);
        }
    }

    @Test
    void a_token_budget_stops_before_a_call_that_it_can_not_pay() {
        JsonNode run = run(platform.request(
                platform.model(mixedReplies()), Map.of("budget", Map.of("tokens", 2500), "rounds", 3)));

        assertThat(run.get("stop_reason").asString()).isEqualTo("budget");
        assertThat(run.at("/usage/proposer/calls").asInt()).isZero();
        assertThat(run.at("/result/held_out/seed/n").asInt()).isEqualTo(5);
    }

    @Test
    void cancelling_takes_effect_between_units_and_keeps_what_is_committed() throws Exception {
        String model = platform.model(mixedReplies());
        platform.executor.hold(id -> id.contains("/r1/c0/dev/0#2"));
        String id = platform.api
                .post("/adapt", Platform.body(platform.request(model, Map.of())))
                .json()
                .get("id")
                .asString();
        platform.executor.awaitHeld();
        assertThat(platform.api.post("/adaptations/" + id + "/cancel", "").status())
                .isEqualTo(202);
        JsonNode run = platform.api.await(id, Api::ended);
        platform.executor.release();

        assertThat(run.get("state").asString()).isEqualTo("cancelled");
        assertThat(run.at("/rounds/0/candidates/0/outcome").asString()).isEqualTo("not_finished");
        assertThat(platform.api.post("/adaptations/" + id + "/cancel", "").status())
                .isEqualTo(409);
        assertThat(platform.api
                        .post("/adaptations/" + id + "/resume", "")
                        .json()
                        .get("code")
                        .asString())
                .isEqualTo("INVALID_STATE");
    }

    @Test
    void pausing_and_resuming_repeats_nothing_that_was_committed() throws Exception {
        String model = platform.model(mixedReplies());
        platform.model.hold("2/0");
        String id = platform.api
                .post("/adapt", Platform.body(platform.request(model, Map.of())))
                .json()
                .get("id")
                .asString();
        platform.model.awaitHeld();
        assertThat(platform.api.post("/adaptations/" + id + "/pause", "").status())
                .isEqualTo(202);
        platform.model.release();
        platform.api.await(id, run -> run.get("state").asString().equals("paused"));
        platform.api.post("/adaptations/" + id + "/resume", "");
        JsonNode run = platform.api.await(id, Api::ended);

        assertThat(run.get("state").asString()).isEqualTo("succeeded");
        assertThat(run.at("/usage/repeated").asInt()).isZero();
        assertThat(run.at("/usage/solver/calls").asLong()).isEqualTo(35);
        assertThat(platform.executor.computed).doesNotHaveDuplicates();
    }

    @Test
    void a_run_paused_within_an_evaluation_goes_on_with_the_question_that_was_open() throws Exception {
        String model = platform.model(mixedReplies());
        platform.executor.hold(id -> id.contains("/r1/c0/dev/0#2"));
        String id = platform.api
                .post("/adapt", Platform.body(platform.request(model, Map.of("rounds", 1))))
                .json()
                .get("id")
                .asString();
        platform.executor.awaitHeld();
        platform.api.post("/adaptations/" + id + "/pause", "");
        platform.api.await(id, run -> run.get("state").asString().equals("paused"));
        platform.executor.release();
        // Baseline 4, feedback 2, and the third dev question of the candidate.
        platform.api.await(id, run -> committed(id) == 9);
        platform.api.post("/adaptations/" + id + "/resume", "");
        JsonNode run = platform.api.await(id, Api::ended);

        assertThat(run.get("state").asString()).isEqualTo("succeeded");
        assertThat(run.at("/rounds/0/candidates/0/score/n").asInt()).isEqualTo(4);
        assertThat(platform.executor.computed).doesNotHaveDuplicates();
    }

    private static long committed(String id) {
        return platform.jdbc
                .sql("select count(*) from question_result where run_id = ?")
                .param(id)
                .query(Long.class)
                .single();
    }

    @Test
    void deleting_a_run_removes_all_that_belongs_to_it() {
        JsonNode run = run(platform.request(platform.model(mixedReplies()), Map.of("rounds", 1)));
        String id = run.get("id").asString();

        assertThat(platform.api
                        .send("DELETE", "/adaptations/" + id, new byte[0])
                        .status())
                .isEqualTo(204);
        assertThat(platform.api.get("/adaptations/" + id).status()).isEqualTo(404);
        for (String table : List.of(
                "run_item",
                "round",
                "candidate",
                "proposer_call",
                "evaluation",
                "run_event",
                "run_budget",
                "model_call",
                "result_use",
                "question_result")) {
            assertThat(platform.jdbc
                            .sql("select count(*) from " + table + " where run_id = ?")
                            .param(id)
                            .query(Long.class)
                            .single())
                    .as(table)
                    .isZero();
        }
    }
}
