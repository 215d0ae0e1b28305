package org.harnesslearning.trainer.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.harnesslearning.trainer.decoder.TinyModels;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

/** Training runs over HTTP, with a method that really trains a tiny model. */
@RequiresPostgres
class TrainingRunTest {
    @TempDir
    private static Path folder;

    private static ConfigurableApplicationContext trainer;
    private static Http http;
    private static JdbcClient jdbc;

    @BeforeAll
    static void start() {
        String database = TestPostgres.createDatabase();
        Path checkpoint = TinyModels.write(folder, "qwen2-tied");
        trainer = DrillTrainer.run(
                DrillTrainer.arguments(TestPostgres.jdbcUrl(database), "http://127.0.0.1:1", 0, checkpoint.toString())
                        .toArray(String[]::new));
        http = new Http("http://127.0.0.1:" + trainer.getEnvironment().getProperty("local.server.port"));
        jdbc = trainer.getBean(JdbcClient.class);
    }

    @AfterAll
    static void stop() {
        trainer.close();
    }

    private static Map<String, Object> request(int steps, Map<String, Object> method) {
        Map<String, Object> request = new LinkedHashMap<>();
        request.put("kind", "sft");
        request.put("base_model", "tiny");
        request.put("method", method);
        request.put("budget", Map.of("steps", steps));
        request.put("checkpoint_every", 3);
        return request;
    }

    private static String marks(String name) throws Exception {
        return Files.createDirectories(folder.resolve(name)).toString();
    }

    private static String order(Map<String, Object> request) {
        Http.Answer answer = http.post("/training-runs", request);
        assertThat(answer.status()).as(answer.body()).isEqualTo(202);
        return answer.json().get("id").asString();
    }

    private static JsonNode ended(String id) {
        return http.await("/training-runs/" + id, run -> run.path("finished_at").isString());
    }

    private static List<String> events(String id, String... headers) {
        return http.get("/training-runs/" + id + "/events", headers)
                .body()
                .lines()
                .filter(line -> line.startsWith("event:"))
                .map(line -> line.substring(6).strip())
                .collect(Collectors.toCollection(ArrayList::new));
    }

    @Test
    void a_run_trains_reports_each_step_and_leaves_a_version() {
        String id = order(request(7, Map.of()));
        JsonNode run = ended(id);

        assertThat(run.get("state").asString()).as(run.toString()).isEqualTo("succeeded");
        assertThat(run.get("stop_reason").asString()).isEqualTo("steps_done");
        assertThat(run.at("/progress/done").asInt()).isEqualTo(7);
        assertThat(run.at("/settings/families").size()).isEqualTo(21);
        assertThat(run.at("/settings/method/learning_rate").asDouble()).isEqualTo(0.02);
        assertThat(run.at("/counts/tokens").asLong()).isPositive();
        assertThat(run.get("checkpoints").size()).as("an ended run needs none").isZero();
        JsonNode metrics = http.get("/training-runs/" + id + "/metrics?limit=5").json();
        assertThat(metrics.get("data").size()).isEqualTo(5);
        assertThat(metrics.get("next_after").asLong()).isEqualTo(5);
        JsonNode rest = http.get("/training-runs/" + id + "/metrics?after=5").json();
        assertThat(rest.get("data").size()).isEqualTo(2);
        assertThat(rest.at("/data/1/metrics/loss").asDouble())
                .as("it learns")
                .isLessThan(metrics.at("/data/0/metrics/loss").asDouble());
        List<String> all = events(id);
        assertThat(all).endsWith("step", "checkpoint", "finished").contains("state");
        assertThat(all.stream().filter("step"::equals).count()).isEqualTo(7);
        assertThat(events(id, "Last-Event-ID", Integer.toString(all.size() - 1)))
                .containsExactly("finished");
        assertThat(run.at("/result/version").asString()).startsWith("sha256:");
        String page = http.get("/metrics").body();
        assertThat(page)
                .contains("trainer_steps_total", "trainer_queue_age", "trainer_runs{state=\"queued\"")
                .contains(
                        "trainer_runs_ended_total{state=\"succeeded\"", "trainer_loss ", "trainer_zero_spread_share ");
    }

    @Test
    void faults_are_named_all_at_once_and_nothing_is_stored() {
        long before =
                jdbc.sql("select count(*) from training_run").query(Long.class).single();
        Http.Answer answer = http.post("/training-runs", """
                {"kind": "sft", "base_model": "nothing", "families": ["basic_arithmetic", "no_such_family"], "rate": 1,
                 "method": {"learning_rate": 7, "momentum": 1}, "parent": "sha256:0", "budget": {"steps": 0}}""");

        assertThat(answer.status()).isEqualTo(400);
        List<String> pointers = new ArrayList<>();
        answer.json()
                .get("errors")
                .forEach(error -> pointers.add(error.get("pointer").asString()));
        assertThat(pointers)
                .containsExactlyInAnyOrder(
                        "/base_model",
                        "/families",
                        "/method/learning_rate",
                        "/method/momentum",
                        "/parent",
                        "/budget/steps",
                        "/rate");
        assertThat(jdbc.sql("select count(*) from training_run")
                        .query(Long.class)
                        .single())
                .isEqualTo(before);
    }

    @Test
    void withheld_and_unseen_families_are_not_trained_on() {
        for (String family : List.of("no_such_family")) {
            Map<String, Object> request = request(1, Map.of());
            request.put("families", List.of(family));
            assertThat(http.post("/training-runs", request).status()).isEqualTo(400);
        }
        org.harnesslearning.tasks.Families.of(org.harnesslearning.tasks.Family.Role.WITHHELD)
                .forEach(family -> {
                    Map<String, Object> request = request(1, Map.of());
                    request.put("families", List.of(family.name()));
                    Http.Answer answer = http.post("/training-runs", request);
                    assertThat(answer.status()).isEqualTo(400);
                    assertThat(answer.json().at("/errors/0/code").asString()).isEqualTo("INVALID_FIELD");
                });
    }

    @Test
    void an_idempotency_key_gives_the_same_run_and_refuses_another_request() {
        Map<String, Object> request = request(1, Map.of());
        JsonNode first = http.post("/training-runs", request, "Idempotency-Key", "one", "Prefer", "wait=60")
                .json();
        JsonNode again =
                http.post("/training-runs", request, "Idempotency-Key", "one").json();
        assertThat(again.get("id")).isEqualTo(first.get("id"));
        Http.Answer other = http.post("/training-runs", request(2, Map.of()), "Idempotency-Key", "one");
        assertThat(other.status()).isEqualTo(409);
        assertThat(other.json().get("code").asString()).isEqualTo("IDEMPOTENCY_MISMATCH");
    }

    @Test
    void an_entity_tag_spares_the_body_and_lists_page_by_cursor() {
        String first = order(request(1, Map.of()));
        ended(first);
        String second = order(request(1, Map.of()));
        ended(second);
        Http.Answer answer = http.get("/training-runs/" + first);
        assertThat(http.get("/training-runs/" + first, "If-None-Match", String.valueOf(answer.etag()))
                        .status())
                .isEqualTo(304);
        JsonNode page = http.get("/training-runs?limit=1&state=succeeded").json();
        assertThat(page.at("/data/0/id").asString()).isGreaterThanOrEqualTo(second);
        JsonNode next = http.get("/training-runs?limit=100&cursor=" + second).json();
        assertThat(next.get("data").findValuesAsString("id")).contains(first).doesNotContain(second);
        assertThat(http.get("/training-runs?cursor=x").status()).isEqualTo(400);
        assertThat(http.get("/training-runs/trn_none").status()).isEqualTo(404);
    }

    @Test
    void a_stalled_step_is_named_with_what_it_waits_for_and_a_waiting_run_waits_its_turn() throws Exception {
        String id = order(request(4, Map.of("marks", marks("stall"), "hold_at", 2)));
        JsonNode stalled =
                http.await("/training-runs/" + id, run -> run.get("message").isString());
        assertThat(stalled.get("message").asString())
                .startsWith("step 2 has taken")
                .endsWith("it is at the mark of the drill");
        String waiting = order(request(1, Map.of()));
        assertThat(http.get("/training-runs/" + waiting).json().get("state").asString())
                .isEqualTo("queued");
        assertThat(http.get("/metrics").body()).contains("trainer_step_stalled 1.0");

        assertThat(http.post("/training-runs/" + id + "/cancel", "{}").status()).isEqualTo(202);
        assertThat(ended(id).get("state").asString()).isEqualTo("cancelled");
        assertThat(events(id)).contains("stalled").endsWith("finished");
        assertThat(ended(waiting).get("state").asString()).isEqualTo("succeeded");
        Http.Answer again = http.post("/training-runs/" + id + "/resume", "{}");
        assertThat(again.json().get("code").asString()).isEqualTo("INVALID_STATE");
    }

    @Test
    void a_deleted_run_is_gone_even_while_it_works() throws Exception {
        String id = order(request(4, Map.of("marks", marks("delete"), "hold_at", 3)));
        http.await("/training-runs/" + id, run -> run.at("/progress/done").asInt() == 2);
        assertThat(http.delete("/training-runs/" + id).status()).isEqualTo(204);
        assertThat(http.get("/training-runs/" + id).status()).isEqualTo(404);
        assertThat(ended(order(request(1, Map.of()))).get("state").asString())
                .as("the worker is free again")
                .isEqualTo("succeeded");
    }

    @Test
    void what_is_resumed_ends_with_the_same_adapter_as_what_was_never_disturbed() throws Exception {
        String undisturbed =
                ended(order(request(11, Map.of()))).at("/result/version").asString();

        String full = order(request(11, Map.of("marks", marks("full"), "fail_save_at", 6)));
        JsonNode paused = http.await(
                "/training-runs/" + full, run -> run.get("state").asString().equals("paused"));
        assertThat(paused.get("message").asString())
                .contains("the run stands at the checkpoint of step 3", "No space left on device");
        http.post("/training-runs/" + full + "/resume", "{}");
        JsonNode resumed = ended(full);
        assertThat(resumed.at("/result/version").asString()).isEqualTo(undisturbed);
        assertThat(events(full)).contains("resumed");
        assertThat(http.get("/training-runs/" + full + "/metrics")
                        .json()
                        .get("data")
                        .size())
                .isEqualTo(11);

        String broken = order(request(11, Map.of("marks", marks("broken"), "fail_save_at", 9)));
        http.await(
                "/training-runs/" + broken, run -> run.get("state").asString().equals("paused"));
        assertThat(jdbc.sql("""
                                update training_checkpoint_part set content = set_byte(content, 100, 7 # get_byte(content, 100))
                                where run_id = ? and step = 6 and file like 'adapter/%safetensors'""").param(broken).update()).isEqualTo(1);
        http.post("/training-runs/" + broken + "/resume", "{}");
        assertThat(ended(broken).at("/result/version").asString()).isEqualTo(undisturbed);
        assertThat(events(broken)).contains("checkpoint.broken");

        String lost = order(request(11, Map.of("marks", marks("lost"), "fail_save_at", 9)));
        http.await("/training-runs/" + lost, run -> run.get("state").asString().equals("paused"));
        jdbc.sql("delete from training_checkpoint_part where run_id = ? and file = 'step'")
                .param(lost)
                .update();
        http.post("/training-runs/" + lost + "/resume", "{}");
        JsonNode stopped = http.await(
                "/training-runs/" + lost,
                run -> run.get("message").isString()
                        && run.get("state").asString().equals("paused"));
        assertThat(stopped.get("message").asString()).contains("no checkpoint of the run", "[6, 3]");
        assertThat(http.post("/training-runs/" + lost + "/cancel", "{}").status())
                .isEqualTo(202);
    }

    @Test
    void a_worker_that_another_one_has_overtaken_commits_nothing() throws Exception {
        String undisturbed =
                ended(order(request(8, Map.of()))).at("/result/version").asString();
        String id = order(request(8, Map.of("marks", marks("overtaken"), "hold_at", 6)));
        http.await("/training-runs/" + id, run -> run.at("/progress/done").asInt() == 5);

        // As a worker that took the run up from its checkpoint leaves it, after this one's lock had gone with its
        // connection.
        jdbc.sql("delete from training_metric where run_id = ? and step > 3")
                .param(id)
                .update();
        jdbc.sql("update training_run set step = 3 where id = ?").param(id).update();
        Files.createFile(folder.resolve("overtaken").resolve("free"));

        JsonNode run = ended(id);
        assertThat(run.at("/result/version").asString()).isEqualTo(undisturbed);
        assertThat(events(id)).contains("resumed");
        assertThat(http.get("/training-runs/" + id + "/metrics")
                        .json()
                        .get("data")
                        .findValues("step"))
                .hasSize(8);
    }

    @Test
    void what_a_cancelled_run_has_saved_is_published_on_request_and_can_be_trained_on() throws Exception {
        String id = order(request(9, Map.of("marks", marks("published"), "hold_at", 5)));
        http.await("/training-runs/" + id, run -> run.at("/progress/done").asInt() == 4);
        http.post("/training-runs/" + id + "/cancel", "{}");
        assertThat(ended(id).get("checkpoints").size()).isEqualTo(1);

        JsonNode version = http.post("/training-runs/" + id + "/publish", "{}").json();
        assertThat(version.get("step").asInt()).isEqualTo(3);
        assertThat(http.post("/training-runs/" + id + "/publish", "{}").json()).isEqualTo(version);
        String name = version.get("version").asString();
        assertThat(name)
                .isEqualTo(
                        ended(order(request(3, Map.of()))).at("/result/version").asString());
        Map<String, Object> more = request(1, Map.of());
        more.put("parent", name);
        assertThat(ended(order(more)).get("state").asString()).isEqualTo("succeeded");

        Http.Answer refused = http.post(
                "/training-runs/" + ended(order(request(1, Map.of()))).get("id").asString() + "/publish", "{}");
        assertThat(refused.status()).isEqualTo(409);
        assertThat(refused.json().get("detail").asString()).contains("no checkpoint", "in its result");
    }

    @Test
    void a_pause_keeps_the_step_and_a_resume_goes_on_from_it() throws Exception {
        Map<String, Object> endless = request(1_000_000, Map.of());
        String id = order(endless);
        http.await("/training-runs/" + id, run -> run.at("/progress/done").asInt() >= 2);
        assertThat(http.post("/training-runs/" + id + "/pause", "{}").status()).isEqualTo(202);
        JsonNode paused = http.await(
                "/training-runs/" + id, run -> run.get("state").asString().equals("paused"));
        int step = paused.at("/progress/done").asInt();
        assertThat(paused.at("/checkpoints/0/step").asInt()).isEqualTo(step);
        http.post("/training-runs/" + id + "/resume", "{}");
        http.await("/training-runs/" + id, run -> run.at("/progress/done").asInt() > step);
        http.post("/training-runs/" + id + "/cancel", "{}");
        ended(id);
        String text = http.get("/training-runs/" + id + "/events").body();
        assertThat(text).contains("\"lost_steps\":0");
    }
}
