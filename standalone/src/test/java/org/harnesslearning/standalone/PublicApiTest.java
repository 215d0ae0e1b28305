package org.harnesslearning.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.PlatformProcess;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.RequiresPythonTools;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * The whole platform as a process, used as a team's CI uses it and then fuzzed by its own OpenAPI document. The harness of
 * {@code examples/ci} answers by calculating, so its scores are real without a token of the model; the adaptation's
 * proposer replays one edit from a file, which is why nothing here rests on a gate that an adaptation passed.
 */
@RequiresDocker
@RequiresModel
@RequiresPostgres
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class PublicApiTest {
    private static final Path ROOT = SharedData.root();
    private static final String EDIT = "<<<<<<< SEARCH\n    boxes, pens, single = numbers\n=======\n"
            + "    boxes, pens, single = numbers[0], numbers[1], numbers[2]\n>>>>>>> REPLACE\n";

    @TempDir
    static Path folder;

    private static PlatformProcess platform;
    private static String url;
    private static String key;

    @BeforeAll
    static void start() throws Exception {
        start(folder.resolve("data"));
    }

    private static void start(Path data) throws Exception {
        Path tape = Files.writeString(
                folder.resolve("tape.jsonl"), Json.write(Map.of("position", "1/0", "reply", EDIT)) + "\n");
        platform = PlatformProcess.start(
                data,
                List.of(
                        "solver.models[0].name=tape",
                        "solver.models[0].kind=recorded",
                        "solver.models[0].file=" + tape,
                        "proposer.default-model=tape",
                        "proposer.retry-delay=50ms",
                        "proposer.revise-wait=0s",
                        "proposer.max-wait=60s",
                        "gateway.rate.per-second=10000",
                        "gateway.rate.burst=100000"));
        url = platform.api().url();
        key = platform.api().key();
    }

    @AfterAll
    static void stop() throws Exception {
        platform.close();
    }

    /** Stops, copies the data folder, and goes on with the copy: the backup and restore of docs/operations.md. */
    @Test
    @Order(Integer.MAX_VALUE)
    void a_copy_of_the_stopped_platforms_data_folder_is_a_backup() throws Exception {
        Map<String, Object> harness = Map.of("source", Files.readString(ROOT.resolve("examples/ci/harness.py")));
        post("/harnesses/names/kept/promote", Map.of("harness", harness, "note", "before the backup"));
        JsonNode before = get("/harnesses/names/kept");
        JsonNode run = post(
                "/evaluations",
                Map.of("task", Map.of("id", upload()), "harness", harness, "solver", Map.of("model", "smollm2-135m")));
        String path = "/evaluations/" + run.get("id").asString();
        JsonNode evaluation = get(path);
        stop();
        Path copy = folder.resolve("copy");
        Ended copied = run(
                folder, Map.of(), 60, List.of("cp", "-a", folder.resolve("data").toString(), copy.toString()));
        assertThat(copied.code()).as(copied.output()).isZero();
        start(copy);
        assertThat(get("/harnesses/names/kept")).isEqualTo(before);
        assertThat(get(path)).isEqualTo(evaluation);
        JsonNode again = post(
                "/evaluations",
                Map.of(
                        "task", Map.of("id", run.at("/settings/task/id").asString()),
                        "harness", Map.of("name", "kept"),
                        "solver", Map.of("model", "smollm2-135m")));
        assertThat(again.at("/usage/cached").asInt())
                .isEqualTo(again.at("/score/n").asInt())
                .isPositive();
    }

    private static JsonNode get(String path) throws Exception {
        return platform.api().get(path);
    }

    private record Ended(int code, String output) {}

    private static Ended run(Path place, Map<String, String> environment, long seconds, List<String> command)
            throws Exception {
        ProcessBuilder builder =
                new ProcessBuilder(command).directory(place.toFile()).redirectErrorStream(true);
        builder.environment().putAll(environment);
        Path out = Files.createTempFile(folder, "out", ".txt");
        Process process = builder.redirectOutput(out.toFile()).start();
        if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
            throw new AssertionError("not ended after " + seconds + " s:\n" + Files.readString(out));
        }
        return new Ended(process.exitValue(), Files.readString(out));
    }

    private static Ended evaluate(Path out, Map<String, String> more, String... arguments) throws Exception {
        Map<String, String> environment = new LinkedHashMap<>(
                Map.of("HARNESS_URL", url, "HARNESS_KEY", key, "MODEL", "smollm2-135m", "OUT", out.toString()));
        environment.putAll(more);
        List<String> command = new ArrayList<>(List.of("sh", "examples/ci/evaluate.sh"));
        command.addAll(List.of(arguments));
        return run(ROOT, environment, 120, command);
    }

    @Test
    void the_curl_example_passes_fails_and_refuses_as_its_exit_codes_say() throws Exception {
        Path good = folder.resolve("good");
        Ended passed =
                evaluate(good, Map.of("RUN_KEY", "pipeline-1"), "examples/ci/harness.py", "examples/pens/task.jsonl");
        assertThat(passed.code()).as(passed.output()).isZero();
        assertThat(passed.output()).contains("The harness scores 1.000").contains("gate passed");
        assertThat(good.resolve("harness-junit.xml")).content().contains("<testsuite ", "failures=\"0\"");
        assertThat(good.resolve("harness-report.md")).content().contains("# Evaluation evl_");

        // The same step again, as a pipeline that is restarted: the same run, not a second one.
        Ended again =
                evaluate(good, Map.of("RUN_KEY", "pipeline-1"), "examples/ci/harness.py", "examples/pens/task.jsonl");
        assertThat(again.output()).isEqualTo(passed.output());

        Path worse = Files.writeString(
                folder.resolve("worse.py"),
                Files.readString(ROOT.resolve("examples/ci/harness.py")).replace("+ single", "- single"));
        Path bad = folder.resolve("bad");
        Ended failed = evaluate(bad, Map.of(), worse.toString(), "examples/pens/task.jsonl", "examples/ci/harness.py");
        assertThat(failed.code()).as(failed.output()).isEqualTo(1);
        assertThat(failed.output()).contains("scores 0.000").contains("the baseline 1.000");
        assertThat(bad.resolve("harness-junit.xml")).content().contains("went from right to wrong", "min_score");

        Path broken = Files.writeString(folder.resolve("broken.py"), "def run(question, env:\n");
        Ended refused = evaluate(bad, Map.of(), broken.toString(), "examples/pens/task.jsonl");
        assertThat(refused.code()).as(refused.output()).isEqualTo(2);
        assertThat(refused.output()).contains("INVALID_HARNESS");
        Ended away = evaluate(
                bad, Map.of("HARNESS_URL", "http://127.0.0.1:1"), worse.toString(), "examples/pens/task.jsonl");
        assertThat(away.code()).isEqualTo(3);
        Ended denied = evaluate(bad, Map.of("HARNESS_KEY", "hl_wrong"), worse.toString(), "examples/pens/task.jsonl");
        assertThat(denied.code()).isEqualTo(3);
        assertThat(denied.output()).contains("INVALID_KEY");
    }

    @Test
    @RequiresPythonTools
    void five_hundred_generated_requests_find_no_failure_and_no_undocumented_answer() throws Exception {
        fuzz(10, 500, 240);
    }

    @Test
    @Tag("long")
    @RequiresPythonTools
    void five_thousand_generated_requests_find_no_failure_and_no_undocumented_answer() throws Exception {
        fuzz(130, 5000, 1800);
    }

    private static void fuzz(int perOperation, int least, long seconds) throws Exception {
        Path settings = folder.resolve("schemathesis-" + perOperation + ".toml");
        Files.writeString(settings, settings(known()));
        Path exchanges = folder.resolve("schemathesis-" + perOperation + ".har");
        List<String> command = new ArrayList<>(List.of(
                SharedData.pythonTool("schemathesis").toString(),
                "--config-file",
                settings.toString(),
                "run",
                url + "/openapi.json",
                "--phases",
                "coverage,fuzzing",
                "--max-examples",
                Integer.toString(perOperation),
                "--seed",
                "1",
                "--checks",
                "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
                        + "response_schema_conformance",
                "--continue-on-failure",
                "--no-shrink",
                "--suppress-health-check",
                "all",
                "--request-timeout",
                "30",
                "--warnings",
                "off",
                "--no-color",
                "--report",
                "har",
                "--report-har-path",
                exchanges.toString()));
        // It keeps what failed in a folder of its own where it runs.
        Ended ended = run(folder, Map.of("COLUMNS", "160"), seconds, command);
        assertThat(ended.code()).as(ended.output()).isZero();
        Matcher generated = Pattern.compile("(\\d+) generated").matcher(ended.output());
        assertThat(generated.find()).as(ended.output()).isTrue();
        assertThat(Integer.parseInt(generated.group(1))).isGreaterThanOrEqualTo(least);
        Map<Integer, Integer> statuses = new TreeMap<>();
        Json.mapper()
                .readTree(exchanges.toFile())
                .at("/log/entries")
                .forEach(entry -> statuses.merge(entry.at("/response/status").asInt(), 1, Integer::sum));
        System.out.println("[fuzz] seed 1, " + generated.group() + ", answers by status " + statuses);
        assertThat(statuses.keySet()).contains(200, 202, 400, 404, 409).allMatch(status -> status < 500);
        platform.api().get("/readyz");
    }

    /** Things that exist, so that reading finds more than 404: by path of the operation, its parameters. */
    private static Map<String, Map<String, String>> known() throws Exception {
        String source = Files.readString(ROOT.resolve("examples/ci/harness.py"));
        Map<String, Object> task = Map.of("id", upload());
        Map<String, Object> solver = Map.of("model", "smollm2-135m");
        JsonNode adaptation = post(
                "/adapt",
                Map.of(
                        "task",
                        task,
                        "harness",
                        Map.of("source", source),
                        "candidates",
                        1,
                        "rounds",
                        1,
                        "solver",
                        solver,
                        "proposer",
                        Map.of("model", "tape", "demonstrations", "none"),
                        "gate",
                        Map.of("min_gain", 0)));
        JsonNode evaluation = post(
                "/evaluations",
                Map.of(
                        "task", task,
                        "harness", Map.of("source", source),
                        "baseline", Map.of("source", source),
                        "solver", solver,
                        "gate", Map.of("min_score", 0.5)));
        JsonNode revision = post(
                "/revise",
                Map.of(
                        "task",
                        task,
                        "harness",
                        Map.of("source", source),
                        "candidates",
                        1,
                        "solver",
                        solver,
                        "proposer",
                        Map.of("model", "tape", "demonstrations", "none")));
        assertThat(adaptation.at("/counts/scored").asInt())
                .as(adaptation.toString())
                .isEqualTo(1);
        assertThat(adaptation.at("/result/gate").asString()).isEqualTo("failed");
        post("/harnesses/names/fuzzed/promote", Map.of("harness", Map.of("source", source)));
        JsonNode webhook = post("/webhooks", Map.of("url", "https://receiver.invalid/hook"));
        post("/webhooks/" + webhook.get("id").asString() + "/ping", Map.of());
        String hash = adaptation.at("/baseline/harness").asString();
        Map<String, String> training = Map.of("id", cancelledTraining());
        Map<String, String> model = Map.of("name", "smollm2-135m");
        JsonNode spareKey = post("/keys", Map.of("name", "spare", "scope", "read"));
        JsonNode spareRun =
                post("/evaluations", Map.of("task", task, "harness", Map.of("source", source), "solver", solver));
        Map<String, String> run = Map.of("id", adaptation.get("id").asString());
        Map<String, String> name = Map.of("name", "fuzzed");
        Map<String, String> hook = Map.of("id", webhook.get("id").asString());
        Map<String, Map<String, String>> known = new LinkedHashMap<>();
        known.put("getAdaptation", run);
        known.put("adaptationEvents", run);
        known.put("adaptationReport", run);
        known.put("getCandidate", Map.of("id", adaptation.get("id").asString(), "round", "1", "candidate", "0"));
        known.put("cancelAdaptation", run);
        known.put("getEvaluation", Map.of("id", evaluation.get("id").asString()));
        known.put("evaluationReport", Map.of("id", evaluation.get("id").asString()));
        known.put("getRevision", Map.of("id", revision.get("id").asString()));
        known.put("getHarness", Map.of("hash", hash));
        known.put(
                "diffHarnesses",
                Map.of("hash", hash, "other", adaptation.at("/result/harness").asString()));
        known.put("getTask", Map.of("id", (String) task.get("id")));
        known.put("getHarnessName", name);
        known.put("addHarnessVersion", name);
        known.put("promoteHarness", name);
        known.put("rollBackHarness", name);
        known.put("harnessHistory", name);
        known.put("liveHarness", name);
        known.put("getWebhook", hook);
        known.put("pingWebhook", hook);
        known.put("listDeliveries", hook);
        // No generated base model is one that the trainer has, so none of these orders a training of hours.
        for (String operation : List.of(
                "getTrainingRun",
                "trainingEvents",
                "trainingMetrics",
                "trainingGroups",
                "cancelTrainingRun",
                "pauseTrainingRun",
                "resumeTrainingRun")) {
            known.put(operation, training);
        }
        for (String operation : List.of("listModelVersions", "promoteModel", "rollbackModel")) {
            known.put(operation, model);
        }
        known.put("deleteTrainingRun", Map.of("id", "trn_none"));
        // What is deleted is there for that, so that the rest stays.
        known.put("revokeKey", Map.of("id", spareKey.get("id").asString()));
        known.put("deleteEvaluation", Map.of("id", spareRun.get("id").asString()));
        known.put("deleteAdaptation", Map.of("id", "adp_none"));
        known.put("deleteRevision", Map.of("id", "rev_none"));
        known.put("deleteHarnessName", Map.of("name", "none"));
        known.put("deleteWebhook", Map.of("id", "whk_none"));
        return known;
    }

    /** Id of a training run that was stopped before its first step. */
    private static String cancelledTraining() throws Exception {
        String id = platform.api()
                .post(
                        "/training-runs",
                        Map.of(
                                "kind",
                                "sft",
                                "base_model",
                                "smollm2-135m",
                                "method",
                                Map.of("teachers", List.of(Map.of("model", "tape")))))
                .get("id")
                .asString();
        platform.api().post("/training-runs/" + id + "/cancel", Map.of());
        platform.await(
                "the training is cancelled",
                Duration.ofMinutes(2),
                () -> get("/training-runs/" + id).get("state").asString().equals("cancelled"));
        return id;
    }

    private static String settings(Map<String, Map<String, String>> known) {
        StringBuilder toml = new StringBuilder("headers = { Authorization = \"Bearer " + key + "\" }\n");
        // It makes no zip; RegistryTest sends ones that are no adapter.
        toml.append("\n[[operations]]\ninclude-operation-id = \"bringAdapter\"\nenabled = false\n");
        known.forEach((operation, parameters) -> {
            toml.append("\n[[operations]]\ninclude-operation-id = \"")
                    .append(operation)
                    .append("\"\n[operations.parameters]\n");
            parameters.forEach((name, value) -> toml.append("\"path.")
                    .append(name)
                    .append("\" = ")
                    .append(value.matches("\\d+") ? value : "\"" + value + "\"")
                    .append('\n'));
        });
        return toml.toString();
    }

    private static String upload() throws Exception {
        HttpResponse<String> answer = platform.api()
                .send(HttpRequest.newBuilder(URI.create(url + "/tasks?scorer=numeric&description=Answer%20it."))
                        .header("Content-Type", "application/jsonl")
                        .POST(BodyPublishers.ofFile(ROOT.resolve("examples/pens/task.jsonl"))));
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
        return Json.mapper().readTree(answer.body()).get("id").asString();
    }

    private static JsonNode post(String path, Object body) throws Exception {
        return platform.api().post(path, body, "Prefer", "wait=60");
    }
}
