package org.harnesslearning.doubles;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** A run question by question, who may see what of it, and the status of the whole. */
@RequiresPostgres
class QuestionTests {
    private static Platform platform;
    private static JsonNode run;
    private static String path;

    @BeforeAll
    static void start() {
        platform = new Platform();
        String model = platform.model(
                Map.of("1/0", Platform.edit("level: 0.0", "level: 0.5"), "1/1", "no block at all", "1/2", "none here"));
        run = platform.api
                .post("/adapt", Platform.body(platform.request(model, Map.of("rounds", 1))), "Prefer", "wait=60")
                .json();
        path = "/adaptations/" + run.get("id").asString();
    }

    @AfterAll
    static void stop() {
        platform.close();
    }

    private static JsonNode evaluation(String role, String split, String scope) {
        return platform.api
                .get(path + "/evaluations", "X-Key-Scope", scope)
                .json()
                .get("data")
                .valueStream()
                .filter(one -> one.get("role").asString().equalsIgnoreCase(role)
                        && one.get("split").asString().equals(split))
                .findFirst()
                .orElseThrow();
    }

    private static Api.Answer question(JsonNode evaluation, int at, String scope) {
        return platform.api.get(
                path + "/questions/"
                        + evaluation.get("results").get(at).get("item_hash").asString() + "?harness="
                        + evaluation.get("harness").asString() + "&repeat="
                        + evaluation.get("repeat").asInt(),
                "X-Key-Scope",
                scope);
    }

    @Test
    void lists_what_was_measured_with_the_scores_of_the_run_itself() {
        JsonNode seed = evaluation("seed", "dev", "read");
        assertThat(seed.get("results")).hasSize(4);
        assertThat(seed.at("/score/mean").asDouble())
                .isEqualTo(run.at("/baseline/score/mean").asDouble());
        assertThat(seed.at("/results/0/answer").isString()).isTrue();
        JsonNode candidate = evaluation("candidate", "dev", "read");
        assertThat(candidate.at("/score/mean").asDouble())
                .isEqualTo(run.at("/rounds/0/candidates/0/score/mean").asDouble());
        assertThat(evaluation("result", "held_out", "read").get("results")).hasSize(5);
    }

    @Test
    void shows_a_dev_question_with_its_trace_to_everybody() {
        JsonNode question =
                question(evaluation("candidate", "dev", "read"), 0, "read").json();
        assertThat(question.get("split").asString()).isEqualTo("dev");
        assertThat(question.get("question").asString()).contains(" dev ");
        assertThat(question.get("expected").get(0).asString()).startsWith("a");
        assertThat(question.has("trace")).isTrue();
        assertThat(question.at("/trace/calls").isArray()).isTrue();
    }

    @Test
    void shows_of_a_held_out_question_only_figures_unless_to_an_admin() {
        for (String scope : List.of("read", "run")) {
            JsonNode listed = evaluation("result", "held_out", scope);
            assertThat(listed.toString()).doesNotContain("\"answer\"").doesNotContain("\"error\"");
            JsonNode question = question(listed, 0, scope).json();
            assertThat(question.get("score").isNumber()).isTrue();
            for (String field : List.of("question", "expected", "answer", "error", "trace")) {
                assertThat(question.get(field).isNull()).as(field).isTrue();
            }
        }
        JsonNode listed = evaluation("result", "held_out", "admin");
        assertThat(listed.toString()).contains("\"answer\"");
        JsonNode question = question(listed, 0, "admin").json();
        assertThat(question.get("question").asString()).contains(" held_out ");
        assertThat(question.get("trace").isObject()).isTrue();
    }

    @Test
    void knows_no_question_of_another_run_and_no_harness_that_it_did_not_measure() {
        JsonNode seed = evaluation("seed", "dev", "admin");
        String item = seed.at("/results/0/item_hash").asString();
        String other = "sha256:" + "0".repeat(64);
        assertThat(platform.api
                        .get(path + "/questions/" + item + "?harness=" + other)
                        .status())
                .isEqualTo(404);
        assertThat(platform.api
                        .get(path + "/questions/" + other + "?harness="
                                + seed.get("harness").asString())
                        .status())
                .isEqualTo(404);
        assertThat(platform.api
                        .get(path + "/questions/" + item + "?repeat=-1&harness="
                                + seed.get("harness").asString())
                        .status())
                .isEqualTo(400);
        assertThat(platform.api.get("/adaptations/adp_unknown/evaluations").status())
                .isEqualTo(404);
    }

    @Test
    void the_status_counts_what_is_stored() {
        platform.jdbc
                .sql(
                        "insert into executor_instance (instance, beat_at, running, waiting, idle, starting) values"
                                + " ('a', now(), 2, 1, 3, 0), ('b', now(), 1, 0, 4, 1), ('lost', now() - interval '1 hour', 9, 9, 9, 9)")
                .update();
        JsonNode status = platform.api.get("/status").json();
        assertThat(status.at("/runs/succeeded").asLong()).isEqualTo(1);
        assertThat(status.at("/runs/queued").asLong()).isZero();
        assertThat(status.at("/runs_by_kind/adaptation")).isEqualTo(status.path("runs"));
        assertThat(status.at("/runs_by_kind/revision/succeeded").asLong(-1)).isZero();
        assertThat(status.at("/runs_by_kind/evaluation/paused").asLong(-1)).isZero();
        assertThat(status.at("/sandbox/executors").asLong()).isEqualTo(2);
        assertThat(status.at("/sandbox/running").asLong()).isEqualTo(3);
        assertThat(status.at("/sandbox/idle").asLong()).isEqualTo(7);
        assertThat(status.at("/outcomes/scored").asLong())
                .isEqualTo(run.at("/counts/scored").asLong());
        assertThat(status.at("/outcomes/invalid").asLong()).isEqualTo(2);
        assertThat(status.at("/outcomes/by_code/NO_BLOCK").asLong()).isEqualTo(2);
        assertThat(status.at("/spend/solver/calls").asLong())
                .isEqualTo(run.at("/usage/solver/calls").asLong())
                .isPositive();
        assertThat(status.at("/spend/proposer/calls").asLong())
                .isEqualTo(run.at("/usage/proposer/calls").asLong());
        assertThat(status.at("/spend/cost").isNull()).isTrue();
        assertThat(status.get("history")).hasSize(60);
        assertThat(status.get("history")
                        .valueStream()
                        .mapToLong(minute -> minute.get("questions").asLong())
                        .sum())
                .isEqualTo(platform.rows("question_result"));
        long tokens = status.get("history")
                .valueStream()
                .mapToLong(minute -> minute.get("tokens").asLong())
                .sum();
        assertThat(tokens)
                .isEqualTo(List.of("/spend/solver", "/spend/proposer").stream()
                        .mapToLong(role -> status.at(role + "/prompt_tokens").asLong()
                                + status.at(role + "/completion_tokens").asLong())
                        .sum());
        assertThat(status.at("/solver/window_s").asLong()).isEqualTo(60);
    }
}
