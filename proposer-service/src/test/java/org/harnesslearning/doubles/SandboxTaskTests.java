package org.harnesslearning.doubles;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.SandboxImage;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.execution.SandboxOffer;
import org.harnesslearning.contracts.execution.SandboxTool;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Tasks that name an image and tools, from the upload to the proposer's prompt. */
@RequiresPostgres
class SandboxTaskTests {
    private static final SandboxImage FRAMES = new SandboxImage("frames", "team/frames:1", "pandas 2.2 and numpy");
    private static final SandboxTool PRICES = new SandboxTool(
            "prices",
            "Price of an article",
            Json.mapper().readTree("{\"type\": \"object\", \"required\": [\"article\"]}"),
            SandboxTool.Answer.JSON,
            4,
            "sha256:prices-1");
    private static final SandboxTool NEWS =
            new SandboxTool("news", "", Json.mapper().readTree("{}"), SandboxTool.Answer.TEXT, 2, "sha256:news-1");

    private static Platform platform;

    @BeforeAll
    static void start() {
        platform = new Platform();
    }

    @AfterAll
    static void stop() {
        platform.close();
    }

    @BeforeEach
    void offer() {
        platform.executor.outage(null);
        platform.executor.offer(new SandboxOffer(List.of(FRAMES), List.of(PRICES, NEWS), 5000));
        platform.executor.kits.clear();
    }

    private static Map<String, Object> task(Map<String, Object> sandbox) {
        Map<String, Object> task = new LinkedHashMap<>(inline());
        task.put("sandbox", sandbox);
        return task;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> inline() {
        return (Map<String, Object>)
                Objects.requireNonNull(platform.task(2, 4, 5).get("inline"));
    }

    private static JsonNode refused(String path, Object body, ErrorCode code) {
        Api.Answer answer = platform.api.post(path, Platform.body(body));
        assertThat(answer.status()).as(answer.body()).isEqualTo(code.status());
        assertThat(answer.json().get("code").asString()).isEqualTo(code.name());
        return answer.json();
    }

    @Test
    void names_that_are_not_on_offer_are_refused_with_what_is_and_nothing_is_stored() {
        long tasks = platform.rows("task");
        JsonNode image = refused("/tasks", task(Map.of("image", "pandas")), ErrorCode.UNKNOWN_IMAGE);
        assertThat(image.at("/errors/0/pointer").asString()).isEqualTo("/sandbox/image");
        assertThat(image.at("/errors/0/detail").asString())
                .isEqualTo("There is no sandbox image pandas; known are frames");
        JsonNode tool = refused("/tasks", task(Map.of("tools", List.of("prices", "shell"))), ErrorCode.UNKNOWN_TOOL);
        assertThat(tool.at("/errors/0/pointer").asString()).isEqualTo("/sandbox/tools");
        assertThat(tool.at("/errors/0/detail").asString()).isEqualTo("There is no tool shell; known are news, prices");

        long runs = platform.rows("run");
        Map<String, Object> inline = Map.of("inline", task(Map.of("image", "frames", "tools", List.of("shell"))));
        JsonNode order = refused("/adapt", platform.request("solver", Map.of("task", inline)), ErrorCode.UNKNOWN_TOOL);
        assertThat(order.at("/errors/0/pointer").asString()).isEqualTo("/task/inline/sandbox/tools");
        assertThat(order.get("errors").size()).isEqualTo(1);
        assertThat(platform.rows("run")).isEqualTo(runs);

        refused("/tasks", task(Map.of("tools", "prices")), ErrorCode.INVALID_FIELD);
        refused("/tasks", task(Map.of("tools", List.of("prices", "prices"))), ErrorCode.INVALID_FIELD);
        refused("/tasks", task(Map.of("image", 7)), ErrorCode.INVALID_FIELD);
        refused("/tasks", task(Map.of("memory", 7)), ErrorCode.UNKNOWN_FIELD);
        platform.executor.offer(new SandboxOffer(List.of(), List.of(), 1));
        assertThat(refused("/tasks", task(Map.of("image", "frames")), ErrorCode.UNKNOWN_IMAGE)
                        .toString())
                .contains("the operator offers none");
        assertThat(platform.rows("task")).isEqualTo(tasks);
    }

    @Test
    void json_lines_take_them_as_parameters() {
        String lines = """
                {"question": "a 0/3", "answer": "x", "split": "feedback"}
                {"question": "b 0/3", "answer": "x", "split": "dev"}
                {"question": "c 0/3", "answer": "x", "split": "held_out"}
                """;
        String path = "/tasks?description=d&image=frames&tools=prices,news";
        Api.Answer answer = platform.api.post(path, lines, "Content-Type", "application/jsonl");
        assertThat(answer.status()).as(answer.body()).isEqualTo(201);
        assertThat(answer.json().get("sandbox").toString())
                .isEqualTo("{\"image\":\"frames\",\"tools\":[\"prices\",\"news\"]}");
        assertThat(platform.api.get(answer.header("location")).json().get("sandbox"))
                .isEqualTo(answer.json().get("sandbox"));
        for (String wrong : List.of("tools=prices,shell", "tools=prices,", "image=other", "tools=news,news")) {
            assertThat(platform.api
                            .post("/tasks?description=d&" + wrong, lines, "Content-Type", "application/jsonl")
                            .status())
                    .as(wrong)
                    .isEqualTo(400);
        }
    }

    @Test
    void an_adaptation_uses_what_its_task_names_and_tells_its_proposer() {
        Api.Answer task =
                platform.api.post("/tasks", Platform.body(task(Map.of("image", "frames", "tools", List.of("prices")))));
        assertThat(task.status()).as(task.body()).isEqualTo(201);
        String model = platform.model(Map.of("1/0", Platform.edit("level: 0.0", "level: 1.0")));
        Map<String, Object> request = platform.request(
                model,
                Map.of(
                        "task",
                        Map.of("id", task.json().get("id").asString()),
                        "candidates",
                        1,
                        "rounds",
                        1,
                        "budget",
                        Map.of("tool_calls", 77)));
        Api.Answer ordered = platform.api.post("/adapt", Platform.body(request));
        assertThat(ordered.status()).as(ordered.body()).isEqualTo(202);
        JsonNode run = platform.api.await(ordered.json().get("id").asString(), Api::ended);
        assertThat(run.get("state").asString()).as(run.toString()).isEqualTo("succeeded");
        assertThat(run.at("/settings/sandbox").toString()).isEqualTo("{\"image\":\"frames\",\"tools\":[\"prices\"]}");
        assertThat(run.at("/settings/budget/tool_calls").asLong()).isEqualTo(77);
        assertThat(run.at("/usage/tools/calls").asLong(-1)).isZero();
        assertThat(platform.executor.kits).isNotEmpty().containsOnly(new SandboxKit(FRAMES, List.of(PRICES)));

        String id = run.get("id").asString();
        String prompt = platform.jdbc
                .sql("select messages::text from proposer_call where run_id = ?")
                .param(id)
                .query(String.class)
                .single();
        assertThat(prompt)
                .contains("uses the standard library and this: pandas 2.2 and numpy;")
                .contains("env.tool(name, args)", "\\\"prices\\\": Price of an article.")
                .contains("at most 4 calls a question")
                .doesNotContain("news");
        assertThat(platform.jdbc
                        .sql("select tool_calls_limit from run_budget where run_id = ?")
                        .param(id)
                        .query(Long.class)
                        .single())
                .isEqualTo(77);
        JsonNode report = platform.api.get("/adaptations/" + id + "/report").json();
        assertThat(report.at("/usage/tools/calls").asLong(-1)).isZero();
        assertThat(platform.api
                        .get("/adaptations/" + id + "/report?format=markdown")
                        .body())
                .contains("| tools | 0 |");
    }

    @Test
    void results_of_one_version_of_a_tool_are_not_those_of_another() {
        String id = platform.api
                .post("/tasks", Platform.body(task(Map.of("tools", List.of("prices")))))
                .json()
                .get("id")
                .asString();
        assertThat(cached(id)).isZero();
        assertThat(cached(id)).isEqualTo(4);
        SandboxTool changed = new SandboxTool(
                "prices", PRICES.description(), PRICES.arguments(), PRICES.answer(), 4, "sha256:prices-2");
        platform.executor.offer(new SandboxOffer(List.of(), List.of(changed), 5000));
        assertThat(cached(id)).isZero();
        platform.executor.offer(new SandboxOffer(List.of(), List.of(NEWS), 5000));
        JsonNode gone = refused("/evaluations", Map.of("task", Map.of("id", id)), ErrorCode.UNKNOWN_TOOL);
        assertThat(gone.at("/errors/0/pointer").asString()).isEqualTo("/task/id");
    }

    private static long cached(String task) {
        Map<String, Object> request = Map.of(
                "task",
                Map.of("id", task),
                "harness",
                Map.of("source", Platform.SEED),
                "solver",
                Map.of("model", "solver"));
        Api.Answer answer = platform.api.post("/evaluations", Platform.body(request), "Prefer", "wait=30");
        assertThat(answer.status()).as(answer.body()).isEqualTo(200);
        assertThat(answer.json().at("/settings/budget/tool_calls").asLong()).isEqualTo(2000);
        return answer.json().at("/usage/cached").asLong();
    }

    @Test
    void calls_of_tools_are_for_tasks_with_tools_and_within_what_the_operator_allows() {
        Map<String, Object> budget = Map.of("tool_calls", 5001);
        Map<String, Object> with = Map.of("inline", task(Map.of("tools", List.of("news"))));
        JsonNode much = refused(
                "/adapt", platform.request("solver", Map.of("task", with, "budget", budget)), ErrorCode.INVALID_FIELD);
        assertThat(much.toString()).contains("from 1 to 5000");
        JsonNode none =
                refused("/adapt", platform.request("solver", Map.of("budget", budget)), ErrorCode.INVALID_FIELD);
        assertThat(none.toString()).contains("is for tasks with tools");
        platform.executor.outage(new PlatformException(ErrorCode.SANDBOX_UNAVAILABLE, "away"));
        refused("/tasks", task(Map.of("tools", List.of("news"))), ErrorCode.SANDBOX_UNAVAILABLE);
    }

    @Test
    void what_may_be_named_is_listed_without_addresses_and_hashes() {
        JsonNode offer = platform.api.get("/sandboxes").json();
        assertThat(offer.at("/images").toString())
                .contains("\"name\":\"frames\"", "pandas 2.2 and numpy")
                .doesNotContain("team/frames");
        assertThat(offer.at("/tools/0/arguments/required/0").asString()).isEqualTo("article");
        assertThat(offer.at("/tools/1/answer").asString()).isEqualTo("text");
        assertThat(offer.at("/tool_calls_per_run").asLong()).isEqualTo(5000);
        assertThat(offer.toString()).doesNotContain("sha256");
    }

    @Test
    void a_named_harness_is_checked_with_what_its_task_has() {
        String id = platform.api
                .post("/tasks", Platform.body(task(Map.of("tools", List.of("prices")))))
                .json()
                .get("id")
                .asString();
        Map<String, Object> body = Map.of("harness", Map.of("source", Platform.SEED), "task", id);
        Api.Answer made = platform.api.post("/harnesses/names/with-tools/versions", Platform.body(body));
        assertThat(made.status()).as(made.body()).isEqualTo(201);
        assertThat(platform.executor.checkedKits).contains(new SandboxKit(null, List.of(PRICES)));
        refused(
                "/harnesses/names/with-tools/versions",
                Map.of("harness", Map.of("source", Platform.SEED), "task", "tsk_none"),
                ErrorCode.INVALID_FIELD);
    }

    @Test
    void tasks_without_a_sandbox_are_as_they_were() {
        Api.Answer task = platform.api.post("/tasks", Platform.body(inline()));
        assertThat(task.json().has("sandbox")).isFalse();
        Map<String, Object> request = Map.of(
                "task",
                Map.of("id", task.json().get("id").asString()),
                "harness",
                Map.of("source", Platform.SEED),
                "solver",
                Map.of("model", "solver"));
        JsonNode run = platform.api
                .post("/evaluations", Platform.body(request), "Prefer", "wait=30")
                .json();
        assertThat(run.at("/settings").has("sandbox")).isFalse();
        assertThat(run.at("/settings/budget").has("tool_calls")).isFalse();
        assertThat(run.at("/usage").has("tools")).isFalse();
        assertThat(platform.executor.kits).isEmpty();
    }
}
