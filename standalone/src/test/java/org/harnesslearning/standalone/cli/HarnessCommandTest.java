package org.harnesslearning.standalone.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.json.Json;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

class HarnessCommandTest {
    private static final String SEED = "sha256:" + "0".repeat(64);
    private static final String RESULT = "sha256:" + "1".repeat(64);

    @TempDir
    Path folder;

    private ApiDouble api;
    private String output = "";
    private String errors = "";

    @BeforeEach
    void start() {
        api = new ApiDouble();
    }

    @AfterEach
    void stop() {
        api.close();
    }

    private ExitCode run(String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("--url", api.url(), "--key", "hl_test"));
        return runBare(all.toArray(String[]::new));
    }

    private ExitCode runBare(String... arguments) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        Surroundings surroundings = new Surroundings(
                new PrintStream(out, true, StandardCharsets.UTF_8),
                false,
                Map.of("HARNESS_DATA", folder.toString()),
                System::nanoTime);
        ExitCode code = HarnessCommand.run(
                List.of(arguments), surroundings, new PrintStream(err, true, StandardCharsets.UTF_8));
        output = out.toString(StandardCharsets.UTF_8);
        errors = err.toString(StandardCharsets.UTF_8);
        return code;
    }

    private static String adaptation(String state, String more) {
        return """
                {"id":"adp_1","state":"%s","stop_reason":"rounds_done",
                 "settings":{"rounds":1,"harness":{"hash":"%s"}},
                 "progress":{"done":10,"planned":10,"unit":"solver_calls"},
                 "links":{"self":"/adaptations/adp_1"}%s}
                """.formatted(state, SEED, more);
    }

    private static String finished(double gain, double low, String gate) {
        return adaptation("succeeded", """
                ,"rounds":[{"index":1,"parent":"%s","chosen":"%s","candidates":[
                   {"index":0,"outcome":"scored","tier":"EXACT","harness":"%s","demonstration":"program",
                    "score":{"mean":0.83,"strict":0.8,"n":6}},
                   {"index":1,"outcome":"invalid","code":"NO_BLOCK","message":"no block in the reply"},
                   {"index":2,"outcome":"scored","harness":"%s","duplicate_of":{"round":1,"candidate":0},
                    "score":{"mean":0.83,"strict":0.8,"n":6}}]}],
                 "counts":{"attempted":3,"scored":2,"invalid":1,"infra_failure":0,"duplicates":1,
                           "by_code":{"NO_BLOCK":1}},
                 "result":{"harness":"%s","gate":"%s","noise":{"repeats":2,"mean_abs_diff":0.01},
                   "held_out":{"seed":{"mean":0.1,"strict":0.1,"n":12,"ci":{"level":0.95,"low":0.0,"high":0.2}},
                     "result":{"mean":0.9,"strict":0.9,"n":12,"ci":{"level":0.95,"low":0.7,"high":1.0}},
                     "demonstration":{"name":"program","mean":0.92,"strict":0.9,"n":12},
                     "demonstrations":[{"name":"program","mean":0.92,"strict":0.9,"n":12}],
                     "gain":{"mean":%s,"ci":{"level":0.95,"low":%s,"high":0.95}}}},
                 "recorded":false,
                 "usage":{"repeated":0,"proposer":{"calls":3,"prompt_tokens":7000,"completion_tokens":900,"ms":60000},
                          "solver":{"calls":40,"prompt_tokens":4000,"completion_tokens":9000,"ms":400000}}
                """.formatted(SEED, RESULT, RESULT, RESULT, RESULT, gate, gain, low));
    }

    private void servesARun(String finishedRun) {
        api.on("POST /adapt", 202, adaptation("queued", ""))
                .on("GET /adaptations/adp_1/events", 200, """
                        id: 1
                        event: state
                        data: {"state":"running"}

                        id: 2
                        event: progress
                        data: {"progress":{"done":5,"planned":10,"unit":"solver_calls"}}

                        """)
                .on("GET /adaptations/adp_1/events", 200, """
                        id: 3
                        event: candidate.finished
                        data: {"rounds":[{"index":1,"candidates":[{"index":1,"outcome":"invalid","code":"NO_BLOCK"}]}]}

                        : heartbeat

                        id: 4
                        event: finished
                        data: {"state":"succeeded"}

                        """)
                .on("GET /adaptations/adp_1", 200, finishedRun)
                .on(
                        "GET /adaptations/adp_1/rounds/1/candidates/0",
                        200,
                        "{\"index\":0,\"diff\":\"--- a\\n+++ b\\n-old line\\n+new line\\n\",\"similarity\":0.95}")
                .on(
                        "GET /harnesses/" + RESULT,
                        200,
                        "{\"hash\":\"" + RESULT + "\",\"source\":\"def run(q, e): pass\\n\"}");
    }

    @Test
    void adapt_follows_a_broken_stream_and_writes_the_result() throws Exception {
        servesARun(finished(0.8, 0.6, "none"));
        Path harness = Files.writeString(folder.resolve("a.py"), "def run(question, env):\n    return ''\n");
        Path out = folder.resolve("sub/b.py");

        ExitCode code = run(
                "adapt",
                "--task",
                "chain_sum",
                "--task-seed",
                "7",
                "--harness",
                harness.toString(),
                "--out",
                out.toString(),
                "--rounds",
                "1",
                "--candidates=3",
                "--dev",
                "6",
                "--model",
                "m",
                "--min-gain",
                "0.1");

        assertThat(code).as(errors).isEqualTo(ExitCode.DONE);
        assertThat(out).hasContent("def run(q, e): pass\n");
        JsonNode body =
                Json.mapper().readTree(api.seen("POST /adapt").getFirst().body());
        assertThat(body).isEqualTo(Json.mapper().readTree("""
                                        {"task":{"reasoning_gym":{"family":"chain_sum","seed":7}},
                                         "harness":{"source":"def run(question, env):\\n    return ''\\n"},
                                         "splits":{"dev":6},"candidates":3,"proposer":{"model":"m"},
                                         "solver":{"model":"m"},"rounds":1,"gate":{"min_gain":0.1}}
                                        """));
        assertThat(api.seen("POST /adapt").getFirst().key()).isEqualTo("Bearer hl_test");
        assertThat(api.seen("GET /adaptations/adp_1/events"))
                .extracting(ApiDouble.Seen::lastEventId)
                .containsExactly("null", "2");
        assertThat(output)
                .contains("round 1, candidate 1: invalid, NO_BLOCK")
                .contains("IMPROVED: the result gains +0.80")
                .contains("starting harness", "demonstration 'program'", "A/A noise")
                .contains("[0.60, 0.95] 95 %")
                .contains("similarity 0.95; that is close to a copy")
                .contains("+new line")
                .contains("3 attempted = 2 scored + 1 invalid + 0 infrastructure failures; 1 duplicates")
                .contains("7000", "9000");
    }

    @Test
    void a_run_without_gain_is_called_not_improved() {
        servesARun(finished(0.0, -0.1, "none"));
        assertThat(run("adapt", "--task", "chain_sum")).isEqualTo(ExitCode.DONE);
        assertThat(output).contains("NOT IMPROVED");
    }

    @Test
    void a_gain_that_may_be_chance_is_called_unclear() {
        servesARun(finished(0.1, -0.1, "none"));
        assertThat(run("adapt", "--task", "chain_sum")).isEqualTo(ExitCode.DONE);
        assertThat(output).contains("UNCLEAR");
    }

    @Test
    void a_failed_gate_is_an_exit_code() {
        servesARun(finished(0.8, 0.6, "failed"));
        assertThat(run("adapt", "--task", "chain_sum")).isEqualTo(ExitCode.GATE_FAILED);
    }

    @Test
    void a_gate_is_sent_whole_and_reports_are_written_whatever_it_says() throws Exception {
        servesARun(finished(0.8, 0.6, "failed")
                .replace(
                        "\"gate\":\"failed\"",
                        "\"gate\":\"failed\",\"gate_reasons\":[\"the run cost 3, more than max_cost 2\"],"
                                + "\"flips\":[{\"item\":\"sha256:ab\",\"split\":\"dev\",\"id\":\"q7\",\"regression\":true,"
                                + "\"before\":1,\"after\":0}]"));
        api.on("GET /adaptations/adp_1/report?format=junit", 200, "<testsuite/>")
                .on("GET /adaptations/adp_1/report?format=json", 200, "{\"id\":\"adp_1\"}");
        Path junit = folder.resolve("reports/junit.xml");
        Path json = folder.resolve("report.json");
        Path anchors = Files.writeString(folder.resolve("anchors.txt"), "q1\n\nq7\n");

        ExitCode code = run(
                "adapt",
                "--task",
                "chain_sum",
                "--wait",
                "--gate",
                "min_gain=0.05,confidence=0.9,max_cost=2",
                "--regression",
                "@" + anchors,
                "--labels",
                "branch=main",
                "--report",
                "junit=" + junit + ",json=" + json);

        assertThat(code).as(errors).isEqualTo(ExitCode.GATE_FAILED);
        assertThat(junit).hasContent("<testsuite/>");
        assertThat(json).hasContent("{\"id\":\"adp_1\"}");
        assertThat(output)
                .contains("Gate: failed", "the run cost 3, more than max_cost 2")
                .contains("right to wrong in dev: sha256:ab (q7), of the regression set");
        assertThat(Json.mapper().readTree(api.seen("POST /adapt").getFirst().body()))
                .isEqualTo(Json.mapper().readTree("""
                                {"task":{"reasoning_gym":{"family":"chain_sum"}},"regression":["q1","q7"],
                                 "labels":{"branch":"main"},
                                 "gate":{"min_gain":0.05,"confidence":0.9,"max_cost":2.0}}
                                """));
    }

    @Test
    void a_run_that_is_not_waited_for_prints_its_id() {
        servesARun(finished(0.8, 0.6, "none"));
        assertThat(run("adapt", "--task", "chain_sum", "--no-wait")).isEqualTo(ExitCode.DONE);
        assertThat(output).isEqualTo("adp_1\n");
    }

    @Test
    void a_run_that_takes_too_long_is_left_with_the_exit_code_of_infrastructure() {
        api.on("POST /adapt", 202, adaptation("queued", ""))
                .on("GET /adaptations/adp_1", 200, adaptation("paused", ",\"message\":\"the solver is away\""));
        assertThat(run("adapt", "--task", "chain_sum", "--timeout", "1")).isEqualTo(ExitCode.FAILED);
        assertThat(output).contains("the solver is away");
        assertThat(errors).contains("not finished in time", "/adaptations/adp_1/cancel");
    }

    @Test
    void eval_compares_with_a_baseline_and_ends_by_its_gate() throws Exception {
        Path harness = Files.writeString(folder.resolve("new.py"), "def run(q, e): return 'b'\n");
        Path baseline = Files.writeString(folder.resolve("old.py"), "def run(q, e): return 'a'\n");
        String evaluation = """
                {"id":"evl_1","state":"%s","stop_reason":"done","recorded":false,
                 "score":{"mean":0.5,"n":4,"ci":{"low":0.2,"high":0.8}},
                 "result":{"baseline":{"harness":"sha256:aa","score":{"mean":0.75,"n":4,"ci":{"low":0.4,"high":1.0}}},
                   "gain":{"mean":-0.25,"ci":{"low":-0.5,"high":0.1}},"gate":"failed",
                   "gate_reasons":["the gain -0.2500 is below min_gain 0.0000"]}}
                """;
        api.on("POST /evaluations", 202, evaluation.formatted("queued"))
                .on("GET /evaluations/evl_1", 200, evaluation.formatted("running"))
                .on("GET /evaluations/evl_1", 200, evaluation.formatted("succeeded"));

        ExitCode code = run(
                "eval",
                "--task",
                "tsk_1",
                "--harness",
                harness.toString(),
                "--baseline",
                baseline.toString(),
                "--split",
                "held_out",
                "--model",
                "m",
                "--gate",
                "min_gain=0");

        assertThat(code).as(errors).isEqualTo(ExitCode.GATE_FAILED);
        assertThat(output).contains("0.500", "0.750", "-0.250", "below min_gain");
        assertThat(Json.mapper()
                        .readTree(api.seen("POST /evaluations").getFirst().body()))
                .isEqualTo(Json.mapper().readTree("""
                                {"task":{"id":"tsk_1"},"harness":{"source":"def run(q, e): return 'b'\\n"},
                                 "baseline":{"source":"def run(q, e): return 'a'\\n"},"split":"held_out",
                                 "solver":{"model":"m"},"gate":{"min_gain":0.0}}
                                """));
    }

    @Test
    void a_failed_run_is_an_exit_code_with_its_reason() {
        servesARun(adaptation("failed", ",\"message\":\"the solver is away\""));
        assertThat(run("adapt", "--task", "chain_sum")).isEqualTo(ExitCode.FAILED);
        assertThat(output).contains("The run failed: the solver is away");
    }

    @Test
    void json_output_is_the_resource_alone() {
        servesARun(finished(0.8, 0.6, "none"));
        assertThat(run("adapt", "--task", "chain_sum", "--json")).isEqualTo(ExitCode.DONE);
        assertThat(Json.mapper().readTree(output).path("id").stringValue()).isEqualTo("adp_1");
    }

    @Test
    void own_items_are_uploaded_first() throws Exception {
        servesARun(finished(0.8, 0.6, "none"));
        api.on("POST /tasks", 201, "{\"id\":\"tsk_9\"}");
        Path items = Files.writeString(
                folder.resolve("t.jsonl"),
                "{\"question\":\"1+1\",\"answer\":\"2\"}\n\n{\"question\":\"2+2\",\"answer\":[\"4\"],\"split\":\"dev\"}\n");
        assertThat(run("adapt", "--task", items.toString(), "--scorer", "numeric"))
                .isEqualTo(ExitCode.DONE);
        JsonNode upload =
                Json.mapper().readTree(api.seen("POST /tasks").getFirst().body());
        assertThat(upload.path("scorer").stringValue()).isEqualTo("numeric");
        assertThat(upload.path("items").size()).isEqualTo(2);
        assertThat(api.seen("POST /adapt").getFirst().body()).contains("\"tsk_9\"");
    }

    @Test
    void image_and_tools_go_with_own_items_only() throws Exception {
        servesARun(finished(0.8, 0.6, "none"));
        api.on("POST /tasks", 201, "{\"id\":\"tsk_9\"}");
        Path items = Files.writeString(folder.resolve("t.jsonl"), "{\"question\":\"1+1\",\"answer\":\"2\"}\n");
        assertThat(run("adapt", "--task", items.toString(), "--image", "money", "--tools", "a,b", "--tool-calls", "9"))
                .isEqualTo(ExitCode.DONE);
        assertThat(api.seen("POST /tasks").getFirst().body())
                .contains("\"sandbox\":{\"image\":\"money\",\"tools\":[\"a\",\"b\"]}");
        assertThat(api.seen("POST /adapt").getFirst().body()).contains("\"tool_calls\":9");
        assertThat(run("adapt", "--task", "chain_sum", "--tools", "a")).isEqualTo(ExitCode.USAGE);
        assertThat(errors).contains("--image and --tools are for own items in a file");
    }

    @Test
    void a_problem_is_shown_with_its_code_and_fields() {
        api.on("POST /adapt", 400, """
                {"code":"UNKNOWN_FAMILY","detail":"no such family","request_id":"r1",
                 "errors":[{"pointer":"/task/reasoning_gym/family","code":"UNKNOWN_FAMILY","detail":"nope"}]}
                """);
        assertThat(run("adapt", "--task", "no_such_family")).isEqualTo(ExitCode.USAGE);
        assertThat(errors).contains("UNKNOWN_FAMILY", "/task/reasoning_gym/family: nope", "request id r1");
    }

    @Test
    void a_refused_key_and_a_missing_platform_are_infrastructure() {
        api.on("POST /adapt", 401, "{\"code\":\"INVALID_KEY\",\"detail\":\"d\"}");
        assertThat(run("adapt", "--task", "chain_sum")).isEqualTo(ExitCode.FAILED);
        assertThat(runBare("adapt", "--task", "chain_sum")).isEqualTo(ExitCode.FAILED);
        assertThat(errors).contains("./harness up");
        assertThat(runBare("status")).isEqualTo(ExitCode.UNREACHABLE);
        assertThat(runBare("adapt", "--task", "x", "--url", "http://127.0.0.1:1"))
                .isEqualTo(ExitCode.FAILED);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "adapt",
                "adapt --task",
                "adapt --task a --task b",
                "adapt --task a --rounds 0",
                "adapt --task a --rounds many",
                "adapt --task a --min-gain x",
                "adapt --task a --gate min_gain",
                "adapt --task a --gate min_gain=x",
                "adapt --task a --gate min_score=0.1",
                "adapt --task a --gate min_gain=0.1 --min-gain 0.2",
                "adapt --task a --report pdf=r.pdf",
                "adapt --task a --report junit=r.xml --no-wait",
                "adapt --task a --wait --no-wait",
                "adapt --task a --timeout 0",
                "eval --task a --candidates 3",
                "eval --task a --baseline missing.py",
                "adapt --task a --json=yes",
                "adapt --task a --what 1",
                "adapt a.py",
                "adapt --task missing.jsonl",
                "adapt --task a --harness missing.py",
                "adapt --task a --url ftp://x",
                "revise",
                "demo --rounds 0",
                "demo --small --model x",
                "nonsense",
                ""
            })
    void wrong_usage_is_refused_with_exit_code_2_and_no_request(String line) {
        List<String> arguments = new ArrayList<>(List.of(line.isEmpty() ? new String[0] : line.split(" ")));
        if (!line.contains("--url") && !line.isEmpty() && !line.endsWith("--task")) {
            arguments.addAll(List.of("--url", api.url()));
        }
        assertThat(runBare(arguments.toArray(String[]::new))).as(line).isEqualTo(ExitCode.USAGE);
        assertThat(errors).startsWith("harness: ");
        assertThat(api.seen("POST /adapt")).isEmpty();
    }

    @Test
    void broken_items_are_named_by_line(@TempDir Path items) throws Exception {
        Path file = Files.writeString(items.resolve("t.jsonl"), "{\"question\":\"a\",\"answer\":\"b\"}\n{oops\n");
        assertThat(run("adapt", "--task", file.toString())).isEqualTo(ExitCode.USAGE);
        assertThat(errors).contains("line 2");
        Path latin = Files.write(items.resolve("l.jsonl"), new byte[] {(byte) 0xe9});
        assertThat(run("adapt", "--task", latin.toString())).isEqualTo(ExitCode.USAGE);
        assertThat(errors).contains("not UTF-8");
    }

    @Test
    void help_lists_options_of_every_command() {
        for (String command : List.of("adapt", "eval", "revise", "demo", "status", "up")) {
            assertThat(runBare(command, "--help")).isEqualTo(ExitCode.DONE);
            assertThat(output).startsWith("Usage: ./harness " + command);
        }
    }

    @Test
    void revise_waits_and_writes_the_best_candidate() {
        String revision = """
                {"id":"rev_1","state":"%s","candidates":[
                  {"index":0,"outcome":"scored","harness":"%s","score":{"mean":0.2,"n":6}},
                  {"index":1,"outcome":"scored","harness":"%s","score":{"mean":0.5,"n":6}}],
                 "usage":{"solver":{"calls":4,"prompt_tokens":1,"completion_tokens":2,"ms":5}}}
                """;
        api.on("POST /revise", 202, "{\"id\":\"rev_1\",\"state\":\"running\"}")
                .on("GET /revisions/rev_1", 200, revision.formatted("running", SEED, RESULT))
                .on("GET /revisions/rev_1", 200, revision.formatted("succeeded", SEED, RESULT))
                .on("GET /harnesses/" + RESULT, 200, "{\"source\":\"best\"}");
        Path out = folder.resolve("b.py");
        assertThat(run("revise", "--task", "chain_sum", "--out", out.toString()))
                .isEqualTo(ExitCode.DONE);
        assertThat(out).hasContent("best");
    }

    /** What a demo asks before its run. */
    private void measuresForTheDemo() {
        api.on("GET /models", 200, "{\"data\":[{\"id\":\"qwen2.5-coder-1.5b\",\"kind\":\"local\"}]}")
                .on("POST /evaluations", 202, "{\"id\":\"evl_1\",\"state\":\"running\"}")
                .on(
                        "GET /evaluations/evl_1",
                        200,
                        "{\"id\":\"evl_1\",\"state\":\"succeeded\",\"usage\":{\"solver\":{\"calls\":2,"
                                + "\"prompt_tokens\":150,\"completion_tokens\":100,\"ms\":4000}}}");
    }

    @Test
    void demo_states_its_plan_and_an_estimate_before_it_starts() {
        servesARun(finished(0.8, 0.6, "none"));
        measuresForTheDemo();
        assertThat(run("demo")).as(errors).isEqualTo(ExitCode.DONE);
        assertThat(output.indexOf("expected")).isBetween(output.indexOf("Plan"), output.indexOf("Started"));
        assertThat(output)
                .contains("chain_sum", "qwen2.5-coder-1.5b", "2 of 3 candidates", "4 feedback", "minutes")
                .contains("Where to look next", "/docs", "admin-key", "./harness down");

        assertThat(run("demo")).as(errors).isEqualTo(ExitCode.DONE);
        List<ApiDouble.Seen> measured = api.seen("POST /evaluations");
        assertThat(measured).hasSize(4);
        assertThat(measured.get(3).body())
                .as("questions of the first demo would be answered from the cache")
                .isNotEqualTo(measured.get(1).body());
    }

    @Test
    void demo_with_an_adapter_brings_it_and_shows_the_proposer_no_demonstrations() throws IOException {
        Path adapter = Files.createDirectories(folder.resolve("adapter"));
        Files.writeString(adapter.resolve("adapter_config.json"), "{}");
        Files.writeString(adapter.resolve("adapter_model.safetensors"), "weights");
        String version = AdapterZip.of(adapter).version();
        String brought = "PUT /models/versions/" + version + "/adapter?base=qwen2.5-coder-1.5b";
        servesARun(finished(0.8, 0.6, "none"));
        measuresForTheDemo();
        api.on(brought, 200, "{}");
        assertThat(run("demo", "--adapter", adapter.toString())).as(errors).isEqualTo(ExitCode.DONE);
        assertThat(api.seen(brought)).hasSize(1);
        assertThat(api.seen("POST /adapt").getFirst().body())
                .contains("\"proposer\":{\"model\":\"qwen2.5-coder-1.5b@" + version + "\",\"demonstrations\":\"none\"}")
                .contains("\"solver\":{\"model\":\"qwen2.5-coder-1.5b\"}");
        assertThat(output).contains("adapter      the proposer's", "examples     none");
    }

    private static String listed(String id, String state, String message) {
        return """
                {"id":"%s","state":"%s","message":"%s","settings":{"task":{"reasoning_gym":{"family":"chain_sum"}}},
                 "created_at":"2026-12-01T06:00:00.123Z","progress":{"done":3,"planned":9,"unit":"solver_calls"}}""".formatted(id, state, message);
    }

    private static String page(String next, String... runs) {
        return "{\"data\":[" + String.join(",", runs) + "],\"next_cursor\":" + next + "}";
    }

    @Test
    void runs_lists_all_kinds_with_the_reasons() {
        api.on("GET /adaptations?limit=20&state=paused", 200, page("null"))
                .on("GET /revisions?limit=20&state=paused", 200, page("null", listed("rev_1", "paused", "no solver")))
                .on("GET /evaluations?limit=20&state=paused", 200, page("null", listed("evl_1", "paused", "no disk")))
                .on("GET /training-runs?limit=20&state=paused", 200, page("null"));
        assertThat(run("runs", "--state", "paused")).isEqualTo(ExitCode.DONE);
        assertThat(output.lines())
                .satisfiesExactly(
                        line -> assertThat(line)
                                .contains("rev_1", "paused", "2026-12-01T06:00:00Z", "chain_sum", "3/9", "no solver"),
                        line -> assertThat(line).contains("evl_1", "no disk"));

        api.on("GET /revisions?limit=5&task=a+b", 200, page("null", listed("rev_2", "running", "")));
        assertThat(run("runs", "list", "--kind", "revisions", "--task", "a b", "--limit", "5", "--json"))
                .isEqualTo(ExitCode.DONE);
        assertThat(Json.mapper().readTree(output).path("id").asString()).isEqualTo("rev_2");
    }

    @Test
    void runs_resume_all_reaches_the_paused_runs_of_every_page_and_tells_what_failed() {
        api.on("GET /adaptations?state=paused&limit=100", 200, page("\"adp_2\"", listed("adp_2", "paused", "")))
                .on(
                        "GET /adaptations?state=paused&limit=100&cursor=adp_2",
                        200,
                        page("null", listed("adp_1", "paused", "")))
                .on("GET /revisions?state=paused&limit=100", 200, page("null"))
                .on("GET /evaluations?state=paused&limit=100", 200, page("null", listed("evl_1", "paused", "")))
                .on("POST /adaptations/adp_2/resume", 409, "{\"code\":\"INVALID_STATE\",\"detail\":\"it runs\"}")
                .on("POST /adaptations/adp_1/resume", 202, listed("adp_1", "queued", ""))
                .on("POST /evaluations/evl_1/resume", 202, listed("evl_1", "queued", ""));
        assertThat(run("runs", "resume", "all")).isEqualTo(ExitCode.FAILED);
        assertThat(output.lines())
                .satisfiesExactly(
                        line -> assertThat(line).contains("adp_2", "INVALID_STATE", "it runs"),
                        line -> assertThat(line).contains("request id"),
                        line -> assertThat(line).isEqualTo("adp_1 queued"),
                        line -> assertThat(line).isEqualTo("evl_1 queued"));
    }

    @Test
    void runs_are_told_by_their_ids() {
        api.on("POST /revisions/rev_1/cancel", 202, listed("rev_1", "cancelled", ""))
                .on("POST /training-runs/trn_1/cancel", 202, listed("trn_1", "running", ""));
        assertThat(run("runs", "cancel", "rev_1", "trn_1")).isEqualTo(ExitCode.DONE);
        assertThat(output).isEqualTo("rev_1 cancelled\ntrn_1 running\n");
        for (List<String> wrong : List.of(
                List.of("runs", "cancel"),
                List.of("runs", "cancel", "all"),
                List.of("runs", "cancel", "rev_1", "whk_1"),
                List.of("runs", "cancel", "rev_1/../../keys"),
                List.of("runs", "forget", "rev_1"),
                List.of("runs", "list", "rev_1"),
                List.of("runs", "--kind", "keys"),
                List.of("runs", "--kind", "training-runs", "--task", "x"))) {
            assertThat(run(wrong.toArray(String[]::new))).as(wrong.toString()).isEqualTo(ExitCode.USAGE);
        }
        assertThat(api.seen("POST /revisions/rev_1/cancel"))
                .as("nothing was told")
                .hasSize(1);
    }

    @Test
    void demo_refuses_recorded_models() {
        api.on("GET /models", 200, "{\"data\":[{\"id\":\"tape\",\"kind\":\"recorded\"}]}");
        assertThat(run("demo", "--model", "tape")).isEqualTo(ExitCode.USAGE);
        assertThat(errors).contains("recorded");
    }
}
