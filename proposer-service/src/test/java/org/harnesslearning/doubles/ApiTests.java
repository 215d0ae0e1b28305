package org.harnesslearning.doubles;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

@RequiresPostgres
class ApiTests {
    private static Platform platform;
    private static JsonNode run;
    private static String path;

    @BeforeAll
    static void start() {
        platform = new Platform();
        String model = platform.model(Map.of(
                "1/0", Platform.edit("level: 0.0", "level: 0.5"), "1/1", Platform.edit("level: 0.0", "level: 0.5")));
        run = platform.api
                .post(
                        "/adapt",
                        Platform.body(platform.request(
                                model,
                                Map.of(
                                        "rounds",
                                        1,
                                        "gate",
                                        Map.of("min_gain", 0.1),
                                        "labels",
                                        Map.of("branch", "main")))),
                        "Prefer",
                        "wait=60")
                .json();
        path = "/adaptations/" + run.get("id").asString();
    }

    @AfterAll
    static void stop() {
        platform.close();
    }

    @Test
    void the_effective_settings_have_every_default_and_no_question() {
        JsonNode settings = run.get("settings");

        assertThat(settings.at("/proposer/temperature").asDouble()).isEqualTo(0.8);
        assertThat(settings.at("/proposer/reply_form").asString()).isEqualTo("search_replace");
        assertThat(settings.at("/solver/max_tokens").asInt()).isEqualTo(512);
        assertThat(settings.at("/limits/solver_calls_per_question").asInt()).isEqualTo(12);
        assertThat(settings.at("/budget/tokens").asInt()).isEqualTo(2_000_000);
        assertThat(settings.at("/selection").asString()).isEqualTo("keep_incumbent");
        assertThat(settings.at("/items/held_out/count").asInt()).isEqualTo(5);
        assertThat(settings.toString()).doesNotContain(" held_out 0/5");
        assertThat(platform.api.get(path, "X-Key-Scope", "admin").body()).contains(" held_out 0/5");
        assertThat(platform.api.get(path, "X-Key-Scope", "read").body()).doesNotContain(" held_out 0/5");
    }

    @Test
    void an_entity_tag_spares_the_body() {
        Api.Answer first = platform.api.get(path);

        assertThat(first.header("etag")).isNotBlank();
        assertThat(platform.api.get(path, "If-None-Match", first.header("etag")).status())
                .isEqualTo(304);
        assertThat(platform.api.get(path, "If-None-Match", "\"other\"").status())
                .isEqualTo(200);
    }

    @Test
    void the_event_stream_counts_up_ends_after_finished_and_resumes() {
        List<String> all = ids(platform.api.get(path + "/events").body());
        assertThat(all.getFirst()).isEqualTo("1");
        assertThat(all).doesNotHaveDuplicates();

        String rest =
                platform.api.get(path + "/events", "Last-Event-ID", all.get(1)).body();
        assertThat(ids(rest)).isEqualTo(all.subList(2, all.size()));
        assertThat(rest).contains("event:finished").contains("event:round.finished");
        assertThat(ids(platform.api
                        .get(path + "/events", "Last-Event-ID", all.getLast())
                        .body()))
                .isEmpty();
    }

    private static List<String> ids(String stream) {
        return Arrays.stream(stream.split("\n"))
                .filter(line -> line.startsWith("id:"))
                .map(line -> line.substring(3).strip())
                .toList();
    }

    @Test
    void reports_come_as_json_markdown_and_junit() {
        JsonNode json = platform.api.get(path + "/report").json();
        assertThat(json.get("improved").asBoolean()).isEqualTo(true);
        assertThat(json.at("/transductive/gain").asDouble()).isEqualTo(0.5);
        assertThat(json.at("/accepted/0/diff").asString()).contains("+    # level: 0.5");
        assertThat(json.at("/outcomes/scored").asInt()).isEqualTo(2);

        String markdown = platform.api.get(path + "/report?format=markdown").body();
        assertThat(markdown)
                .contains("The harness improved on held-out questions")
                .contains("3 attempted = 2 scored + 1 invalid + 0 infrastructure failures")
                .contains("same harness as 1/0");
        Api.Answer junit = platform.api.get(path + "/report?format=junit");
        assertThat(junit.header("content-type")).startsWith("application/xml");
        assertThat(junit.body()).contains("tests=\"7\" failures=\"0\" errors=\"0\" skipped=\"1\"");
        assertThat(platform.api.get(path + "/report?format=pdf").status()).isEqualTo(400);
    }

    @Test
    void a_report_before_the_end_is_a_conflict() throws Exception {
        String model = platform.model(Map.of());
        platform.model.hold("1/0");
        Api.Answer order = platform.api.post("/adapt", Platform.body(platform.request(model, Map.of("rounds", 1))));
        assertThat(order.status()).isEqualTo(202);
        assertThat(order.header("location"))
                .isEqualTo("/adaptations/" + order.json().get("id").asString());
        platform.model.awaitHeld();

        Api.Answer report = platform.api.get(order.header("location") + "/report");
        assertThat(report.status()).isEqualTo(409);
        assertThat(report.json().get("code").asString()).isEqualTo("NOT_FINISHED");
        JsonNode running = platform.api.get(order.header("location")).json();
        assertThat(running.at("/progress/planned").asLong())
                .isGreaterThan(running.at("/progress/done").asLong());
        platform.model.release();
        platform.api.await(order.json().get("id").asString(), Api::ended);
    }

    @Test
    void an_idempotency_key_gives_the_same_run_and_refuses_another_request() {
        String model = platform.model(Map.of());
        String body = Platform.body(platform.request(model, Map.of("rounds", 1)));
        String id = platform.api
                .post("/adapt", body, "Idempotency-Key", "k1")
                .json()
                .get("id")
                .asString();

        assertThat(platform.api
                        .post("/adapt", body, "Idempotency-Key", "k1")
                        .json()
                        .get("id")
                        .asString())
                .isEqualTo(id);
        Api.Answer other = platform.api.post(
                "/adapt", Platform.body(platform.request(model, Map.of("rounds", 2))), "Idempotency-Key", "k1");
        assertThat(other.status()).isEqualTo(409);
        assertThat(other.json().get("code").asString()).isEqualTo("IDEMPOTENCY_MISMATCH");
        platform.api.await(id, Api::ended);
    }

    @Test
    void lists_are_paged_newest_first() {
        for (int i = 0; i < 2; i++) {
            platform.api.post(
                    "/adapt",
                    Platform.body(platform.request(platform.model(Map.of()), Map.of("rounds", 1))),
                    "Prefer",
                    "wait=60");
        }
        JsonNode first =
                platform.api.get("/adaptations?limit=2&state=succeeded").json();
        assertThat(first.get("data")).hasSize(2);
        String cursor = first.get("next_cursor").asString();
        JsonNode second = platform.api
                .get("/adaptations?limit=2&state=succeeded&cursor=" + cursor)
                .json();
        assertThat(second.at("/data/0/id").asString()).isLessThan(cursor);
        assertThat(platform.api.get("/adaptations?task=nothing").json().get("data"))
                .isEmpty();
    }

    @Test
    void revisions_and_evaluations_are_listed_without_what_grows_with_their_questions() {
        String model = platform.model(Map.of("1/0", Platform.edit("level: 0.0", "level: 0.5")));
        Map<String, Object> request = platform.request(model, Map.of("candidates", 2));
        request.remove("rounds");
        List<String> revisions = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            revisions.add(platform.api
                    .post("/revise", Platform.body(request))
                    .json()
                    .get("id")
                    .asString());
        }
        JsonNode newest = platform.api.get("/revisions?limit=1&state=succeeded").json();
        assertThat(newest.at("/data/0/id").asString()).isEqualTo(revisions.getLast());
        assertThat(newest.at("/data/0/counts/attempted").asInt()).isEqualTo(2);
        assertThat(newest.at("/data/0").has("candidates")).isFalse();
        JsonNode next = platform.api
                .get("/revisions?limit=1&cursor=" + newest.get("next_cursor").asString())
                .json();
        assertThat(next.at("/data/0/id").asString()).isEqualTo(revisions.getFirst());

        Map<String, Object> harness = new LinkedHashMap<>();
        harness.put("task", platform.task(2, 4, 5));
        harness.put("harness", Map.of("source", Platform.SEED));
        harness.put("split", "dev");
        String evaluation = platform.api
                .post("/evaluations", Platform.body(harness))
                .json()
                .get("id")
                .asString();
        JsonNode evaluations = platform.api.get("/evaluations").json();
        assertThat(evaluations.at("/data/0/id").asString()).isEqualTo(evaluation);
        assertThat(evaluations.at("/data/0/score/mean").isNumber()).isTrue();
        assertThat(evaluations.at("/data/0").has("questions")).isFalse();
        assertThat(platform.api.get("/evaluations?state=paused").json().get("data"))
                .isEmpty();
        assertThat(platform.api
                        .get("/evaluations?cursor=" + revisions.getFirst())
                        .status())
                .isEqualTo(400);
    }

    @Test
    void harnesses_are_served_with_their_difference() {
        String seed = Hashes.harness(Platform.SEED);
        String result = run.at("/result/harness").asString();

        assertThat(platform.api.get("/harnesses/" + seed).json().get("source").asString())
                .isEqualTo(Platform.SEED);
        assertThat(platform.api
                        .get("/harnesses/" + seed, "Accept", "text/plain")
                        .body())
                .isEqualTo(Platform.SEED);
        assertThat(platform.api.get("/harnesses/" + seed + "/diff/" + result).body())
                .contains("-    # level: 0.0")
                .contains("+    # level: 0.5");
    }

    @Test
    void a_revision_shows_its_candidates_and_can_leave_them_unevaluated() {
        String model = platform.model(Map.of("1/0", Platform.edit("level: 0.0", "level: 0.5")));
        Map<String, Object> request = platform.request(model, Map.of("candidates", 2));
        request.remove("rounds");
        Api.Answer answer = platform.api.post("/revise", Platform.body(request));
        assertThat(answer.status()).as(answer.body()).isEqualTo(200);
        assertThat(answer.json().at("/candidates/0/score/mean").asDouble()).isEqualTo(0.5);
        assertThat(answer.json().at("/candidates/1/code").asString()).isEqualTo("NO_BLOCK");
        assertThat(answer.json().at("/report/n").asInt()).isEqualTo(2);

        Map<String, Object> without = new LinkedHashMap<>(request);
        without.put("evaluate", false);
        JsonNode edits = platform.api.post("/revise", Platform.body(without)).json();
        assertThat(edits.at("/candidates/0/diff").asString()).contains("level: 0.5");
        assertThat(edits.at("/candidates/0/score").isNull()).isTrue();
        assertThat(platform.api.get("/revisions/" + edits.get("id").asString()).status())
                .isEqualTo(200);
    }

    @Test
    void the_prompt_of_a_stored_round_is_shown_to_services_without_its_demonstration() {
        String model = platform.model(Map.of("1/0", Platform.edit("level: 0.0", "level: 0.5")));
        Map<String, Object> request = platform.request(
                model,
                Map.of(
                        "candidates",
                        1,
                        "proposer",
                        Map.of("model", model, "demonstrations", "default", "max_tokens", 64)));
        request.remove("rounds");
        String id = platform.api
                .post("/revise", Platform.body(request))
                .json()
                .get("id")
                .asString();
        JsonNode asked = Json.mapper()
                .readTree(platform.jdbc
                        .sql("select messages from proposer_call where run_id = ?")
                        .param(id)
                        .query(String.class)
                        .single());

        Api.Answer answer = platform.api.get("/revisions/" + id + "/rounds/1/prompt");

        assertThat(answer.status()).as(answer.body()).isEqualTo(200);
        JsonNode messages = answer.json().get("messages");
        assertThat(asked.size()).as("with a demonstration").isEqualTo(4);
        assertThat(messages.size()).isEqualTo(2);
        assertThat(messages.get(0)).as("the system text").isEqualTo(asked.get(0));
        assertThat(messages.get(1)).as("task, harness and report").isEqualTo(asked.get(3));
        assertThat(answer.json().get("continued").asBoolean()).isFalse();
        assertThat(answer.json().get("prompt_version").asString()).isEqualTo("proposer-v1");
        assertThat(platform.api.get("/revisions/" + id + "/rounds/2/prompt").status())
                .isEqualTo(404);
    }

    @Test
    void an_evaluation_scores_one_harness_on_one_split() {
        Map<String, Object> request = new LinkedHashMap<>();
        request.put("task", platform.task(2, 4, 5));
        request.put("harness", Map.of("source", Platform.SEED.replace("0.0", "0.5")));
        request.put("split", "held_out");
        JsonNode evaluation =
                platform.api.post("/evaluations", Platform.body(request)).json();

        assertThat(evaluation.at("/score/n").asInt()).as(evaluation.toString()).isEqualTo(5);
        assertThat(evaluation.at("/score/mean").asDouble()).isEqualTo(0.6);
        assertThat(evaluation.at("/questions/0/answer").isMissingNode()).isTrue();
    }

    @Test
    void own_tasks_are_uploaded_and_used_and_built_in_ones_are_listed() {
        StringBuilder lines = new StringBuilder();
        for (String split : List.of("feedback", "dev", "held_out")) {
            for (int i = 0; i < 3; i++) {
                lines.append("{\"question\": \"own %s %d/3\", \"answer\": \"a\", \"split\": \"%s\"}\n"
                        .formatted(split, i, split));
            }
        }
        Api.Answer created = platform.api.send(
                "POST",
                "/tasks?description=Answer%20it&scorer=exact&name=mine",
                lines.toString().getBytes(StandardCharsets.UTF_8),
                "Content-Type",
                "application/jsonl");
        assertThat(created.status()).as(created.body()).isEqualTo(201);
        String id = created.json().get("id").asString();
        assertThat(created.body()).contains("own dev 0/3").doesNotContain("own held_out 0/3");
        assertThat(platform.api.get("/tasks").json().get("data")).hasSize(48);
        assertThat(platform.api
                        .get("/tasks/chain_sum")
                        .json()
                        .get("description")
                        .asString())
                .isNotBlank();

        Map<String, Object> request =
                platform.request(platform.model(Map.of()), Map.of("rounds", 1, "task", Map.of("id", id)));
        JsonNode ran = platform.api
                .post("/adapt", Platform.body(request), "Prefer", "wait=60")
                .json();
        assertThat(ran.get("state").asString()).isEqualTo("succeeded");
        assertThat(ran.at("/settings/splits/held_out").asInt()).isEqualTo(3);
    }

    @Test
    void models_are_listed_with_their_version() {
        JsonNode models = platform.api.get("/models").json();

        assertThat(models.at("/data/0/version").asString()).startsWith("sha256:");
    }
}
