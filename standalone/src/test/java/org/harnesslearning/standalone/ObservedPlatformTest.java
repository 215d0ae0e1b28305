package org.harnesslearning.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import org.assertj.core.data.Offset;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.standalone.deployment.Queries;
import org.harnesslearning.testing.PlatformProcess;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** What a whole adaptation leaves in metrics, traces and logs: real services, sandboxes, small model; recorded proposer. */
@RequiresDocker
@RequiresModel
@RequiresPostgres
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ObservedPlatformTest {
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final String REQUEST = "observed-request-1";

    private final HttpClient client = HttpClient.newHttpClient();

    private Path folder;
    private SpanCollector collector;
    private PlatformProcess platform;
    private String key;
    private String run;

    @BeforeAll
    void adapt(@TempDir Path data) throws Exception {
        folder = data;
        collector = new SpanCollector();
        start();
        key = platform.api().key();
        assertThat(platform.api().with("hl_wrong").send("GET", "/models", null).statusCode())
                .isEqualTo(401);
        HttpResponse<String> answer = platform.api()
                .send(
                        "POST",
                        "/adapt",
                        Map.of(
                                "task", Map.of("reasoning_gym", Map.of("family", "chain_sum", "seed", 42)),
                                "splits", Map.of("feedback", 1, "dev", 2, "held_out", 2),
                                "candidates", 4,
                                "rounds", 1,
                                "proposer", Map.of("model", "recorded-1.5b"),
                                "solver", Map.of("model", "smollm2-135m", "max_tokens", 24)),
                        "X-Request-Id",
                        REQUEST);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(202);
        run = Json.mapper().readTree(answer.body()).get("id").asString();
        await("the adaptation ends", () -> {
            String state = resource().get("state").asString();
            assertThat(state).isIn("queued", "running", "succeeded");
            return state.equals("succeeded");
        });
    }

    @AfterAll
    void stop() throws Exception {
        platform.close();
        collector.close();
        client.close();
    }

    @Test
    void every_metric_of_dashboards_and_alerts_is_there() throws Exception {
        Set<String> names = new HashSet<>();
        for (String service : addresses().values()) {
            scrape(service).keySet().forEach(series -> names.add(series.replaceFirst("\\{.*", "")));
        }

        Map<String, String> missing = new TreeMap<>(Queries.metrics());
        missing.keySet().removeAll(names);
        // Prometheus makes this one.
        missing.remove("up");
        assertThat(missing).isEmpty();
    }

    @Test
    void counters_tell_what_the_run_did() throws Exception {
        JsonNode counts = resource().get("counts");
        JsonNode usage = resource().get("usage");
        Map<String, Double> proposer = scrape(addresses().get("proposer-service"));
        Map<String, Double> executor = scrape(addresses().get("harness-executor"));

        assertThat(proposer.get("proposer_runs_ended_total{kind=\"adaptation\",state=\"succeeded\"}"))
                .isEqualTo(1);
        assertThat(proposer.get("proposer_runs_running{kind=\"adaptation\"}")).isZero();
        assertThat(sum(proposer, "proposer_candidates_total{", "outcome=\"scored\""))
                .isEqualTo(counts.get("scored").asDouble());
        counts.get("by_code")
                .properties()
                .forEach(code -> assertThat(
                                sum(proposer, "proposer_candidates_total{", "code=\"" + code.getKey() + "\""))
                        .isEqualTo(code.getValue().asDouble()));
        assertThat(sum(proposer, "model_tokens_total{", "role=\"proposer\"", "type=\"completion\""))
                .isEqualTo(usage.at("/proposer/completion_tokens").asDouble());
        assertThat(sum(executor, "model_tokens_total{", "role=\"solver\"", "type=\"completion\""))
                .isEqualTo(usage.at("/solver/completion_tokens").asDouble());
        assertThat(sum(executor, "model_calls_total{", "role=\"solver\""))
                .isEqualTo(usage.at("/solver/calls").asDouble());
        assertThat(sum(proposer, "model_cost_total{", "role=\"solver\""))
                .isEqualTo(
                        (1.0 * usage.at("/solver/prompt_tokens").asDouble()
                                        + 2.0
                                                * usage.at("/solver/completion_tokens")
                                                        .asDouble())
                                / 1_000_000,
                        Offset.offset(1e-9));
        assertThat(executor.get("executor_pool_size")).isEqualTo(4);
        assertThat(sum(scrape(addresses().get("gateway")), "gateway_refused_total{", "code=\"INVALID_KEY\""))
                .isEqualTo(1);
        assertThat(sum(
                        scrape(addresses().get("gateway")),
                        "http_server_requests_seconds_bucket{",
                        "uri=\"/adapt\"",
                        "le=\"60.0\""))
                .isEqualTo(1);
    }

    @Test
    void one_adaptation_is_one_trace_from_the_gateway_to_the_solver() throws Exception {
        await(
                "the run's own span is there",
                () -> collector.spans().stream().anyMatch(span -> span.name().equals("adaptation")));
        List<SpanCollector.Collected> roots = collector.spans().stream()
                .filter(span -> span.service().equals("gateway") && span.name().equals("http post /adapt"))
                .toList();
        assertThat(roots).hasSize(1);
        List<SpanCollector.Collected> trace = collector.spans().stream()
                .filter(span -> span.trace().equals(roots.getFirst().trace()))
                .toList();
        List<String> way = List.of(
                "gateway: http post /adapt",
                "proposer-service: order",
                "proposer-service: adaptation",
                "proposer-service: round",
                "proposer-service: candidate",
                "harness-executor: execution",
                "harness-executor: sandbox",
                "harness-executor: question",
                "solver-service: http post /v1/chat/completions");

        await(
                "a solver call of a candidate is there",
                () -> collector.spans().stream()
                        .filter(span -> span.service().equals("solver-service"))
                        .anyMatch(span -> names(collector.path(span)).containsAll(way)));
        SpanCollector.Collected call = collector.spans().stream()
                .filter(span -> span.service().equals("solver-service")
                        && names(collector.path(span)).containsAll(way))
                .findFirst()
                .orElseThrow();
        List<SpanCollector.Collected> path = collector.path(call);
        assertThat(names(path)).containsSubsequence(way);
        assertThat(path.getFirst()).isEqualTo(roots.getFirst());
        assertThat(path).allSatisfy(span -> {
            assertThat(span.trace()).isEqualTo(roots.getFirst().trace());
            assertThat(span.end()).isGreaterThanOrEqualTo(span.start());
        });
        // From the run inwards each span lies within the one around it; requests that ordered or began the work do not.
        for (int i = names(path).indexOf("harness-executor: sandbox"); i < path.size(); i++) {
            assertThat(path.get(i).start())
                    .isGreaterThanOrEqualTo(path.get(i - 1).start());
        }
        // The work of all four services stands in this trace and nowhere else.
        assertThat(trace.stream().map(SpanCollector.Collected::service))
                .contains("gateway", "proposer-service", "harness-executor", "solver-service");
        assertThat(collector.spans().stream()
                        .filter(span -> Set.of("round", "candidate", "execution", "sandbox", "question")
                                .contains(span.name())))
                .isNotEmpty()
                .allSatisfy(span ->
                        assertThat(span.trace()).isEqualTo(roots.getFirst().trace()));
    }

    private static List<String> names(List<SpanCollector.Collected> path) {
        return path.stream().map(span -> span.service() + ": " + span.name()).toList();
    }

    @Test
    void log_lines_of_the_run_name_it_and_tell_no_secret() throws Exception {
        List<String> lines = Files.readAllLines(folder.resolve("logs/harness.log"));
        List<JsonNode> ofRun = new ArrayList<>();
        Set<String> loggers = new TreeSet<>();
        for (String line : lines) {
            JsonNode entry = Json.mapper().readTree(line);
            assertThat(entry.get("level").asString()).isNotBlank();
            if (line.contains(run)) {
                ofRun.add(entry);
            }
        }
        assertThat(ofRun).hasSizeGreaterThan(10).allSatisfy(entry -> {
            assertThat(entry.at("/mdc/run_id").asString()).as(entry.toString()).isEqualTo(run);
            assertThat(entry.at("/mdc/request_id").asString())
                    .as(entry.toString())
                    .isEqualTo(REQUEST);
            assertThat(entry.at("/mdc/traceId").asString()).as(entry.toString()).matches("[0-9a-f]{32}");
        });
        ofRun.forEach(entry -> loggers.add(
                entry.get("loggerName").asString().replaceFirst("org\\.harnesslearning\\.([a-z]+)\\..*", "$1")));
        assertThat(loggers).contains("proposer", "executor");

        String log = String.join("\n", lines);
        assertThat(log)
                .doesNotContain(key)
                .doesNotContain(
                        Files.readString(folder.resolve("internal-secret")).strip());
        Set<String> texts = texts();
        assertThat(texts).hasSizeGreaterThan(20);
        for (String text : texts) {
            assertThat(log.contains(text))
                    .as("the log has a line of a question, prompt, reply or harness")
                    .isFalse();
        }
    }

    /** Lines, long enough to be no accident, of every question, prompt, reply and harness of the run. */
    private Set<String> texts() throws Exception {
        Set<String> texts = new TreeSet<>();
        for (String sql : List.of(
                "select item ->> 'question' from run_item where run_id = ?",
                "select m ->> 'content' from proposer_call, jsonb_array_elements(messages) m where run_id = ?",
                "select reply from candidate where run_id = ?",
                "select source from harness where hash in (select harness from candidate where run_id = ?)")) {
            try (Connection connection = platform.connect();
                    var statement = connection.prepareStatement(sql)) {
                statement.setString(1, run);
                try (ResultSet rows = statement.executeQuery()) {
                    assertThat(rows.next()).as(sql).isTrue();
                    do {
                        rows.getString(1)
                                .lines()
                                .map(String::strip)
                                .filter(line -> line.length() >= 24)
                                .forEach(texts::add);
                    } while (rows.next());
                }
            }
        }
        return texts;
    }

    private void start() throws Exception {
        Path replies = SharedData.root().resolve("standalone/src/test/resources/recorded/chain_sum-1.5b.jsonl");
        platform = PlatformProcess.start(
                folder,
                List.of(
                        "solver.models[0].name=recorded-1.5b",
                        "solver.models[0].kind=recorded",
                        "solver.models[0].file=" + replies,
                        "proposer.prices[recorded-1.5b].prompt=3",
                        "proposer.prices[smollm2-135m].prompt=1",
                        "proposer.prices[smollm2-135m].completion=2",
                        "logging.structured.format.file=logstash",
                        "management.opentelemetry.tracing.export.otlp.endpoint=" + collector.endpoint()));
    }

    private JsonNode resource() throws Exception {
        return platform.api().get("/adaptations/" + run);
    }

    /** Where the services answer, by name: the file that is made for Prometheus. */
    private Map<String, String> addresses() throws IOException {
        Map<String, String> addresses = new TreeMap<>();
        for (JsonNode group : Json.mapper().readTree(Files.readString(folder.resolve("targets.json")))) {
            addresses.put(
                    group.at("/labels/job").asString(), group.at("/targets/0").asString());
        }
        return addresses;
    }

    /** Values by series, as they stand in the answer. */
    private Map<String, Double> scrape(String address) throws Exception {
        HttpResponse<String> answer = client.send(
                HttpRequest.newBuilder(URI.create("http://" + address + "/metrics"))
                        .build(),
                BodyHandlers.ofString());
        assertThat(answer.statusCode()).isEqualTo(200);
        Map<String, Double> values = new TreeMap<>();
        answer.body().lines().filter(line -> !line.startsWith("#")).forEach(line -> {
            int space = line.lastIndexOf(' ');
            String value = line.substring(space + 1);
            values.put(
                    line.substring(0, space),
                    value.equals("+Inf") ? Double.POSITIVE_INFINITY : Double.parseDouble(value));
        });
        return values;
    }

    private static double sum(Map<String, Double> values, String start, String... labels) {
        return values.entrySet().stream()
                .filter(entry -> entry.getKey().startsWith(start)
                        && List.of(labels).stream().allMatch(entry.getKey()::contains))
                .mapToDouble(Map.Entry::getValue)
                .sum();
    }

    private void await(String what, Callable<Boolean> condition) throws Exception {
        platform.await(what, PATIENCE, condition);
    }
}
