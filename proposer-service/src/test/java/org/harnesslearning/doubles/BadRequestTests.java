package org.harnesslearning.doubles;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

@RequiresPostgres
class BadRequestTests {
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
    void nothing_is_stored() {
        platform.executor.outage(null);
        // The retention job stands there from the start.
        for (String table : List.of(
                "run",
                "task",
                "harness",
                "run_item",
                "scheduled_tasks where task_name <> 'retention'",
                "run_budget",
                "idempotency")) {
            assertThat(platform.rows(table)).as(table).isZero();
        }
    }

    private static JsonNode refused(String path, String body, int status, ErrorCode code) {
        Api.Answer answer = platform.api.post(path, body);
        assertThat(answer.status()).as(answer.body()).isEqualTo(status);
        assertThat(answer.header("content-type")).startsWith("application/problem+json");
        assertThat(answer.json().get("code").asString()).isEqualTo(code.name());
        assertThat(answer.json().get("request_id").asString()).isNotBlank();
        return answer.json();
    }

    private static JsonNode adapt(Map<String, Object> fields, int status, ErrorCode code) {
        Map<String, Object> request = platform.request("solver", fields);
        request.values().removeIf(value -> value.equals("absent"));
        return refused("/adapt", Platform.body(request), status, code);
    }

    private static List<String> pointers(JsonNode problem) {
        List<String> pointers = new ArrayList<>();
        problem.get("errors").forEach(error -> pointers.add(error.get("pointer").asString()));
        return pointers;
    }

    @Test
    void bodies_that_are_no_json_object() {
        refused("/adapt", "{\"task\": ", 400, ErrorCode.MALFORMED_JSON);
        refused("/adapt", "[]", 400, ErrorCode.MALFORMED_JSON);
        refused("/adapt", "{\"seed\": 1, \"seed\": 2}", 400, ErrorCode.MALFORMED_JSON);
        byte[] latin = "{\"task\": \"caf\u00e9\"}".getBytes(StandardCharsets.ISO_8859_1);
        assertThat(platform.api.send("POST", "/adapt", latin).json().get("code").asString())
                .isEqualTo("NOT_UTF8");
    }

    @Test
    void all_field_faults_are_named_at_once() {
        JsonNode problem = adapt(
                Map.of(
                        "candidates",
                        0,
                        "rounds",
                        "three",
                        "selection",
                        "random",
                        "splits",
                        Map.of("dev", -1, "test", 3),
                        "budget",
                        Map.of("solver_calls", 1.5),
                        "extra",
                        true),
                400,
                ErrorCode.INVALID_FIELD);

        assertThat(pointers(problem))
                .containsExactlyInAnyOrder(
                        "/candidates",
                        "/rounds",
                        "/selection",
                        "/splits/dev",
                        "/splits/test",
                        "/budget/solver_calls",
                        "/extra");
    }

    @Test
    void unknown_fields_families_models_and_tasks() {
        assertThat(pointers(adapt(Map.of("harnes", "x"), 400, ErrorCode.UNKNOWN_FIELD)))
                .containsExactly("/harnes");
        assertThat(pointers(adapt(
                        Map.of("task", Map.of("reasoning_gym", Map.of("family", "chain_sums"))),
                        400,
                        ErrorCode.UNKNOWN_FAMILY)))
                .containsExactly("/task/reasoning_gym/family");
        assertThat(pointers(adapt(Map.of("solver", Map.of("model", "gpt-0")), 400, ErrorCode.UNKNOWN_MODEL)))
                .containsExactly("/solver/model");
        assertThat(pointers(adapt(Map.of("task", Map.of("id", "tsk_none")), 400, ErrorCode.INVALID_FIELD)))
                .containsExactly("/task/id");
        assertThat(pointers(adapt(Map.of("task", Map.of("qa", Map.of())), 400, ErrorCode.INVALID_FIELD)))
                .containsExactly("/task/qa");
        assertThat(pointers(adapt(Map.of("task", "absent"), 400, ErrorCode.INVALID_FIELD)))
                .containsExactly("/task");
        assertThat(pointers(adapt(
                        Map.of(
                                "task",
                                Map.of("reasoning_gym", Map.of("family", "chain_sum", "config", Map.of("broken", 1)))),
                        400,
                        ErrorCode.INVALID_FIELD)))
                .containsExactly("/task/reasoning_gym/config");
        assertThat(pointers(adapt(
                        Map.of("proposer", Map.of("model", "solver", "demonstrations", "mine")),
                        400,
                        ErrorCode.INVALID_FIELD)))
                .containsExactly("/proposer/demonstrations");
    }

    @Test
    void harnesses_that_can_not_be_used() {
        for (String source : List.of(
                "   \n",
                "def run(q, env):\n    return '\\u0000'\n".replace("\\u0000", "\u0000"),
                "x = 1\n",
                "# " + "x".repeat(10_000_000))) {
            assertThat(pointers(adapt(Map.of("harness", Map.of("source", source)), 400, ErrorCode.INVALID_HARNESS)))
                    .containsExactly("/harness/source");
        }
        adapt(Map.of("harness", Map.of("hash", "sha256:00")), 400, ErrorCode.INVALID_HARNESS);
        adapt(Map.of("harness", Map.of()), 400, ErrorCode.INVALID_FIELD);
        String halfPair = Platform.body(platform.request("solver", Map.of())).replace("# level", "# \\ud800 level");
        refused("/adapt", halfPair, 400, ErrorCode.INVALID_HARNESS);
    }

    @Test
    void splits_that_overlap_or_miss_the_held_out_set() {
        Map<String, Object> overlap = inline(List.of("a 0/1"), List.of("b 0/1"), List.of("a 0/1"));
        adapt(Map.of("task", overlap), 422, ErrorCode.OVERLAPPING_SPLITS);
        Map<String, Object> missing = inline(List.of("a 0/1"), List.of("b 0/1"), List.of());
        adapt(Map.of("task", missing), 422, ErrorCode.MISSING_HELD_OUT);
        adapt(
                Map.of(
                        "task", Map.of("reasoning_gym", Map.of("family", "chain_sum")),
                        "splits", Map.of("held_out", 0)),
                422,
                ErrorCode.MISSING_HELD_OUT);
    }

    @Test
    void budgets_that_do_not_cover_one_candidate_a_round() {
        JsonNode problem = adapt(Map.of("budget", Map.of("solver_calls", 30)), 400, ErrorCode.BUDGET_TOO_SMALL);

        assertThat(pointers(problem)).containsExactly("/budget/solver_calls");
        assertThat(problem.get("detail").asString()).contains("31");
    }

    @Test
    void tasks_with_bad_lines() {
        Api.Answer answer = platform.api.send(
                "POST",
                "/tasks?description=d&scorer=exact",
                "{\"question\": \"q\", \"answer\": \"a\"}\n{\"question\": 1}\n".getBytes(StandardCharsets.UTF_8),
                "Content-Type",
                "application/jsonl");
        assertThat(answer.status()).isEqualTo(400);
        assertThat(answer.json().get("detail").asString()).contains("line 2");
        refused(
                "/tasks",
                "{\"description\": \"d\", \"scorer\": \"magic\", \"items\": []}",
                400,
                ErrorCode.INVALID_FIELD);
    }

    @Test
    void methods_media_types_and_ids_that_are_not_there() {
        assertThat(platform.api.get("/adaptations/adp_none").json().get("code").asString())
                .isEqualTo("NOT_FOUND");
        assertThat(platform.api.get("/harnesses/sha256:1").status()).isEqualTo(404);
        assertThat(platform.api.send("PUT", "/adapt", new byte[] {'{', '}'}).status())
                .isEqualTo(405);
        assertThat(platform.api
                        .send("POST", "/adapt", new byte[] {'x'}, "Content-Type", "text/plain")
                        .status())
                .isEqualTo(415);
        for (String list : List.of("/adaptations", "/revisions", "/evaluations")) {
            assertThat(platform.api.get(list + "?limit=0").status()).isEqualTo(400);
            assertThat(platform.api.get(list + "?limit=101").status()).isEqualTo(400);
            assertThat(platform.api.get(list + "?state=busy").status()).isEqualTo(400);
        }
        assertThat(platform.api
                        .get("/adaptations", "X-Internal-Secret", "wrong")
                        .status())
                .isEqualTo(401);
    }

    @Test
    void an_executor_that_is_away_gives_a_retry_time() {
        platform.executor.outage(new PlatformException(ErrorCode.SANDBOX_UNAVAILABLE, "no Docker"));
        Api.Answer answer = platform.api.post("/adapt", Platform.body(platform.request("solver", Map.of())));

        assertThat(answer.status()).isEqualTo(503);
        assertThat(answer.header("retry-after")).isNotBlank();
    }

    private static Map<String, Object> inline(List<String> feedback, List<String> dev, List<String> heldOut) {
        Map<String, Object> items = new LinkedHashMap<>();
        items.put("feedback", questions(feedback));
        items.put("dev", questions(dev));
        items.put("held_out", questions(heldOut));
        return Map.of("inline", Map.of("description", "d", "scorer", "exact", "items", items));
    }

    private static List<Map<String, String>> questions(List<String> texts) {
        return texts.stream()
                .map(text -> Map.of("question", text, "answer", "a"))
                .toList();
    }
}
