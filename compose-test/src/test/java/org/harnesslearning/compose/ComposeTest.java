package org.harnesslearning.compose;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.PlatformApi;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresModel;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * The core stack in containers, with two replicas of proposer-service and of harness-executor: a real small model as
 * solver, real sandboxes behind the engine proxy, Postgres; the proposer's replies were recorded from {@code
 * qwen2.5-coder-1.5b} (two of them make the same edit, one returns a number where text is due).
 */
@RequiresDocker
@RequiresModel
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class ComposeTest {
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final List<String> SERVICES = List.of(
            "gateway",
            "proposer-service",
            "harness-executor",
            "solver-service",
            "trainer-service",
            "postgres",
            "engine-proxy");

    private static final Duration MINUTES = Duration.ofMinutes(3);
    private static final String SOURCE = "def run(question, env):\n    return env.llm(question)\n";

    @TempDir
    static Path folder;

    private static ComposeProject project;

    @BeforeAll
    static void start() throws IOException {
        String solver = """
                solver:
                  preload: [smollm2-135m]
                  models:
                    - {name: recorded-1.5b, kind: recorded, file: /config/recorded.jsonl, delay: 5s}
                """;
        project = ComposeProject.up(
                folder,
                Map.of("solver-service.yaml", solver, "recorded.jsonl", ComposeProject.recorded()),
                "proposer-service=2",
                "harness-executor=2");
    }

    @AfterAll
    static void stop() {
        if (project != null) {
            project.close();
        }
    }

    @Test
    @Order(1)
    void every_container_is_locked_down_and_only_the_gateway_can_be_reached() throws Exception {
        for (String service : SERVICES) {
            List<String> containers = project.containers(service);
            assertThat(containers)
                    .as(service)
                    .hasSize(service.equals("proposer-service") || service.equals("harness-executor") ? 2 : 1);
            for (String container : containers) {
                JsonNode inspected = inspect(container);
                JsonNode host = inspected.get("HostConfig");
                assertThat(host.get("ReadonlyRootfs").asBoolean()).as(service).isTrue();
                assertThat(host.get("Privileged").asBoolean()).as(service).isFalse();
                assertThat(host.get("CapDrop").toString()).as(service).isEqualTo("[\"ALL\"]");
                assertThat(host.get("CapAdd").isNull()).as(service).isTrue();
                assertThat(host.get("SecurityOpt").toString()).as(service).isEqualTo("[\"no-new-privileges:true\"]");
                assertThat(host.get("PidsLimit").asLong()).as(service).isPositive();
                assertThat(host.get("Memory").asLong()).as(service).isPositive();
                assertThat(host.get("NanoCpus").asLong()).as(service).isPositive();
                assertThat(inspected.at("/Config/User").asString()).as(service).matches("[1-9]\\d*:[1-9]\\d*");

                assertThat(published(inspected))
                        .as(service)
                        .containsExactlyElementsOf(
                                service.equals("gateway")
                                        ? List.of(
                                                "127.0.0.1:" + project.gateway().getPort())
                                        : List.of());
                assertThat(inspected.get("Mounts").toString().contains("docker.sock"))
                        .as("the engine's socket in " + service)
                        .isEqualTo(service.equals("engine-proxy"));
                for (String secret : project.secrets()) {
                    assertThat(inspected.toString())
                            .as("a secret in " + service)
                            .doesNotContain(secret);
                }
            }
        }
        assertThat(inspect(project.container("engine-proxy"))
                        .at("/HostConfig/NetworkMode")
                        .asString())
                .isEqualTo("none");
        JsonNode internal = Json.mapper()
                .readTree(project.docker("network", "inspect", project.name() + "_internal"))
                .get(0);
        assertThat(internal.get("Internal").asBoolean()).isTrue();
    }

    @Test
    @Order(2)
    void services_take_calls_with_the_installations_secret_only() {
        String gateway = project.container("gateway");
        String models = "/v1/models";

        assertThat(project.fetch(gateway, "solver-service", 8083, models, "")).startsWith("HTTP/1.1 401");
        assertThat(project.fetch(gateway, "solver-service", 8083, models, "guess"))
                .startsWith("HTTP/1.1 401");
        assertThat(project.fetch(gateway, "solver-service", 8083, models, project.secret("internal-secret")))
                .startsWith("HTTP/1.1 200")
                .contains("smollm2-135m");
        assertThat(project.fetch(gateway, "proposer-service", 8081, "/adaptations", ""))
                .startsWith("HTTP/1.1 401");
        assertThat(project.fetch(gateway, "harness-executor", 8082, "/internal/items", ""))
                .startsWith("HTTP/1.1 401");
    }

    @Test
    @Order(3)
    void an_adaptation_survives_the_kill_of_every_service_and_computes_nothing_twice() throws Exception {
        String run = adapt();

        await("a proposer call is under way", """
                select count(*) > 0 from proposer_call where run_id = '%s' and attempts > 0 and committed_at is null""", run);
        String working = project.single(
                "select picked_by from scheduled_tasks where picked and task_instance like '" + run + "/%'");
        String proposer = project.containers("proposer-service").stream()
                .filter(container -> container.startsWith(working) || working.startsWith(container.substring(0, 12)))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no proposer-service is called " + working));
        List<String> killed = new ArrayList<>(List.of(proposer, project.container("gateway")));
        killed.forEach(project::killAndStart);

        await("the solver answers for a candidate", answering("candidate"), run);
        String executor = project.containers("harness-executor").stream()
                .filter(ComposeTest::runsJobs)
                .findFirst()
                .orElseThrow(() -> new AssertionError("no executor runs a job"));
        project.killAndStart(executor);
        killed.add(executor);

        await("the solver answers for a candidate again", answering("candidate"), run);
        for (String service : List.of("solver-service", "postgres")) {
            project.killAndStart(project.container(service));
            killed.add(project.container(service));
        }

        await("the solver answers for a held-out question", answering("held_out"), run);
        for (String service : List.of("engine-proxy", "trainer-service")) {
            project.killAndStart(project.container(service));
            killed.add(project.container(service));
        }

        await("the run ends", "select state not in ('queued', 'running') from run where id = '%s'", run);
        killed.forEach(project::awaitHealthy);
        JsonNode result = api().get("/adaptations/" + run);

        assertThat(result.at("/state").asString()).as(result.toString()).isEqualTo("succeeded");
        assertThat(result.at("/recorded").asBoolean()).isTrue();
        assertThat(result.at("/result/held_out/seed/n").asInt()).isEqualTo(3);
        assertThat(result.at("/result/held_out/result/n").asInt()).isEqualTo(3);

        JsonNode counts = result.get("counts");
        assertThat(counts.get("scored").asInt()).as("scored").isPositive();
        assertThat(counts.get("invalid").asInt()).as("invalid").isPositive();
        assertThat(counts.get("duplicates").asInt()).as("duplicates").isPositive();
        assertThat(counts.get("infra_failure").asInt()).as("infra_failure").isZero();
        assertThat(counts.get("attempted").asInt())
                .isEqualTo(4)
                .isEqualTo(counts.get("scored").asInt()
                        + counts.get("invalid").asInt()
                        + counts.get("infra_failure").asInt());
        assertThat(project.single(
                        "select count(*) from candidate where run_id = '" + run + "' and outcome is not null"))
                .isEqualTo("4");

        assertThat(project.single("""
                select count(*) from model_call m join question_result q
                    using (harness_hash, item_hash, repeat, solver_hash, scorer_hash)
                where m.run_id = '%s' and m.started_at > q.committed_at""".formatted(run)))
                .as("calls for a committed question")
                .isEqualTo("0");
        long lostCalls = Long.parseLong(project.single("""
                select count(*) from model_call m where m.run_id = '%s' and m.role = 'solver'
                  and not exists (select 1 from question_result q where q.attempt_id = m.attempt_id)""".formatted(run)));
        long lostReplies = Long.parseLong(project.single("""
                select coalesce(sum((attempts - 1) * jsonb_array_length(candidates)), 0)
                from proposer_call where run_id = '%s'""".formatted(run)));
        assertThat(lostCalls).as("solver calls that the kills cut off").isPositive();
        assertThat(lostReplies).as("replies that the kills cut off").isPositive();
        JsonNode usage = result.get("usage");
        assertThat(usage.get("repeated").asLong()).isEqualTo(lostCalls + lostReplies);
        assertThat(usage.at("/solver/calls").asString() + " "
                        + usage.at("/solver/completion_tokens").asString())
                .isEqualTo(project.single("""
                        select count(*) || ' ' || coalesce(sum(completion_tokens), 0) from model_call
                        where run_id = '%s' and role = 'solver'""".formatted(run)));
    }

    @Test
    @Order(4)
    void log_lines_of_the_services_are_json_and_name_the_run_that_they_are_about() throws Exception {
        String run = project.single("select id from run order by id limit 1");
        int about = 0;
        for (String service :
                List.of("gateway", "proposer-service", "harness-executor", "solver-service", "trainer-service")) {
            for (String container : project.containers(service)) {
                // Before the services speak, the Java runtime may.
                List<String> lines = project.docker("logs", container)
                        .lines()
                        .dropWhile(line -> !line.startsWith("{"))
                        .toList();
                assertThat(lines).as(service).isNotEmpty();
                for (String line : lines) {
                    if (line.isBlank()) {
                        continue;
                    }
                    JsonNode entry = Json.mapper().readTree(line);
                    assertThat(entry.at("/@timestamp").asString()).as(line).isNotBlank();
                    assertThat(entry.at("/log/level").asString()).as(line).isNotBlank();
                    assertThat(entry.at("/service/name").asString()).as(line).isEqualTo(service);
                    assertThat(line).doesNotContain(project.secrets().toArray(String[]::new));
                    // The scheduler's own lines name a job, which has the run's id in its name.
                    if (entry.at("/log/logger").asString().startsWith("org.harnesslearning.")
                            && entry.at("/message").asString().contains(run)) {
                        assertThat(entry.at("/run_id").asString()).as(line).isEqualTo(run);
                        about++;
                    }
                }
            }
        }
        assertThat(about).as("lines about the run").isPositive();
    }

    /** The commands of docs/operations.md, with a loss between them. */
    @Test
    @Order(5)
    void what_was_lost_after_a_dump_is_there_again_after_its_restore() throws Exception {
        String services = "gateway proposer-service harness-executor solver-service trainer-service";
        JsonNode made = api().post(
                        "/harnesses/names/kept/promote",
                        Map.of("harness", Map.of("source", SOURCE), "note", "before the dump"));
        String run = project.single("select id from run order by id limit 1");
        JsonNode before = api().get("/adaptations/" + run);
        project.compose(
                MINUTES,
                "exec",
                "-T",
                "postgres",
                "pg_dump",
                "--format=custom",
                "--no-owner",
                "--username=harness",
                "--file=/tmp/harness.dump",
                "harness");

        assertThat(api().send("DELETE", "/harnesses/names/kept", null).statusCode())
                .isEqualTo(204);
        assertThat(api().send("DELETE", "/adaptations/" + run, null).statusCode())
                .isEqualTo(204);
        project.compose(MINUTES, ("stop " + services).split(" "));
        for (String command : List.of(
                "dropdb --username=harness --maintenance-db=postgres --force harness",
                "createdb --username=harness --maintenance-db=postgres harness",
                "pg_restore --username=harness --no-owner --exit-on-error --dbname=harness /tmp/harness.dump")) {
            project.compose(MINUTES, ("exec -T postgres " + command).split(" "));
        }
        project.compose(MINUTES, ("start " + services).split(" "));
        for (String service : services.split(" ")) {
            project.containers(service).forEach(project::awaitHealthy);
        }

        assertThat(api().get("/harnesses/names/kept").get("live")).isEqualTo(made.get("live"));
        assertThat(api().get("/adaptations/" + run)).isEqualTo(before);
        // What is written now continues what was restored.
        JsonNode again = api().post("/harnesses/names/kept/promote", Map.of("harness", Map.of("source", SOURCE)));
        assertThat(again.at("/live/version").asInt()).isEqualTo(1);
    }

    @Test
    @Order(6)
    void a_stopped_service_ends_by_itself_and_leaves_no_sandbox() throws Exception {
        List<String> containers = new ArrayList<>();
        for (String service :
                List.of("gateway", "proposer-service", "harness-executor", "solver-service", "trainer-service")) {
            containers.addAll(project.containers(service));
        }
        // The executor that was killed above left its sandboxes to the reapers of the others.
        project.awaitSandboxesOf(project.containers("harness-executor").size());
        project.compose(
                Duration.ofMinutes(2),
                "stop",
                "gateway",
                "proposer-service",
                "harness-executor",
                "solver-service",
                "trainer-service");
        for (String container : containers) {
            JsonNode inspected = inspect(container);
            // 143: ended on SIGTERM; 137 would be the kill after the grace period.
            assertThat(inspected.at("/State/ExitCode").asInt())
                    .as(inspected.at("/Name").asString())
                    .isEqualTo(143);
        }
        assertThat(project.docker(
                        "ps", "--all", "--quiet", "--filter", "label=org.harnesslearning.owner=" + project.name()))
                .isEmpty();
    }

    private static String answering(String what) {
        String where = what.equals("candidate") ? """
                and exists (select 1 from candidate c
                            where c.run_id = m.run_id and c.harness = m.harness_hash and c.outcome is null)""" : """
                and m.item_hash in (select hash from run_item i where i.run_id = m.run_id and i.split = 'held_out')""";
        return "select count(*) > 0 from model_call m where m.run_id = '%s' and m.role = 'solver' and m.ended_at is null "
                + "and m.started_at > now() - interval '5 seconds' " + where;
    }

    private static boolean runsJobs(String container) {
        return project.fetch(container, "127.0.0.1", 8082, "/metrics", "")
                .lines()
                .anyMatch(line -> line.startsWith("executor_jobs_running") && !line.endsWith(" 0.0"));
    }

    private static JsonNode inspect(String container) throws IOException {
        return Json.mapper().readTree(project.docker("inspect", container)).get(0);
    }

    private static List<String> published(JsonNode inspected) {
        List<String> published = new ArrayList<>();
        for (JsonNode bindings : inspected.at("/NetworkSettings/Ports")) {
            for (JsonNode binding : bindings) {
                published.add(binding.get("HostIp").asString() + ":"
                        + binding.get("HostPort").asString());
            }
        }
        return published;
    }

    private static String adapt() throws Exception {
        Map<String, Object> request = Map.of(
                "task",
                Map.of("reasoning_gym", Map.of("family", "chain_sum", "seed", 42)),
                "splits",
                Map.of("feedback", 2, "dev", 3, "held_out", 3),
                "candidates",
                4,
                "rounds",
                1,
                "proposer",
                Map.of("model", "recorded-1.5b"),
                "solver",
                Map.of("model", "smollm2-135m", "max_tokens", 96));
        HttpResponse<String> answer = api().send("POST", "/adapt", request);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(202);
        return Json.mapper().readTree(answer.body()).get("id").asString();
    }

    private static PlatformApi api() {
        return new PlatformApi(project.gateway().toString(), project.secret("admin-key"));
    }

    private static void await(String what, String sql, String run) throws Exception {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            String now;
            try {
                now = project.single(sql.formatted(run));
                if ("t".equals(now)) {
                    return;
                }
            } catch (SQLException e) {
                // Postgres was killed a moment ago.
                now = e.getMessage();
            }
            if (System.nanoTime() > end) {
                throw new AssertionError("not reached in time: " + what + " (" + now + ")\n"
                        + api().get("/adaptations/" + run) + "\n" + project.logs());
            }
            if (sql.contains("model_call") || sql.contains("proposer_call")) {
                String state = stateOf(run);
                assertThat(state).as("the run goes on until " + what).isIn("queued", "running", "away");
            }
            Thread.sleep(20);
        }
    }

    private static String stateOf(String run) {
        try {
            return project.single("select state from run where id = '" + run + "'");
        } catch (SQLException e) {
            return "away";
        }
    }
}
