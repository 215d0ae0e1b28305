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
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** {@code train} and {@code models}, against a double of the API. */
class TrainCommandTest {
    private static final String VERSION = "sha256:" + "a".repeat(64);
    private static final String RUN = "/training-runs/trn_1";

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
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        ExitCode code = HarnessCommand.run(
                all,
                new Surroundings(
                        new PrintStream(out, true, StandardCharsets.UTF_8),
                        false,
                        Map.of("HARNESS_DATA", folder.toString()),
                        System::nanoTime),
                new PrintStream(err, true, StandardCharsets.UTF_8));
        output = out.toString(StandardCharsets.UTF_8);
        errors = err.toString(StandardCharsets.UTF_8);
        return code;
    }

    private void trains(String state, String more) {
        api.on("POST /training-runs", 202, "{\"id\":\"trn_1\",\"state\":\"queued\"}");
        api.on("GET " + RUN + "/events", 200, """
                id: 1
                event: state
                data: {"state":"running"}

                id: 2
                event: step
                data: {"step":1,"metrics":{"loss":2.5,"grad_norm":0.75},"counts":{}}

                id: 3
                event: finished
                data: {"state":"%s"}

                """.formatted(state));
        api.on(
                "GET " + RUN,
                200,
                "{\"id\":\"trn_1\",\"state\":\"" + state + "\",\"progress\":{\"done\":2,\"planned\":2},"
                        + "\"counts\":{\"corpus_accepted\":7}" + more + "}");
        api.on(
                "GET " + RUN + "/metrics?limit=10000",
                200,
                "{\"data\":[{\"step\":1,\"metrics\":{\"loss\":2.5}},{\"step\":2,\"metrics\":{\"loss\":0.125}}]}");
    }

    @Test
    void a_run_is_ordered_followed_and_summed_up() throws Exception {
        trains("succeeded", ",\"result\":{\"version\":\"" + VERSION + "\"}");
        Path method = Files.writeString(
                folder.resolve("method.json"), "{\"lora\":{\"alpha\":8},\"candidates\":3,\"bonus\":0.1}");
        ExitCode code = run(
                "train",
                "--kind",
                "grpo",
                "--base",
                "tiny",
                "--families",
                "chain_sum, syllogism",
                "--steps",
                "2",
                "--parent",
                VERSION,
                "--rank",
                "4",
                "--candidates",
                "6",
                "--learning-rate",
                "0.001",
                "--dev",
                "5",
                "--method",
                method.toString());

        assertThat(code).as(errors).isEqualTo(ExitCode.DONE);
        JsonNode sent =
                Json.mapper().readTree(api.seen("POST /training-runs").getLast().body());
        assertThat(sent).isEqualTo(Json.mapper().readTree("""
                {"kind":"grpo","base_model":"tiny","families":["chain_sum","syllogism"],"parent":"%s",
                 "budget":{"steps":2},
                 "method":{"lora":{"alpha":8,"rank":4},"candidates":6,"bonus":0.1,
                           "optimizer":{"learning_rate":0.001},"rollout":{"dev":5}}}""".formatted(VERSION)));
        assertThat(output)
                .contains("step 1: loss 2.500, grad norm 0.7500")
                .contains("loss                      2.500       0.1250")
                .contains("corpus accepted")
                .contains("The run succeeded after 2 of 2 steps.")
                .contains("./harness models promote NAME " + VERSION);
    }

    @Test
    void a_failed_run_has_an_exit_code_of_its_own_and_says_why() {
        trains("failed", ",\"message\":\"no edit was accepted\"");
        assertThat(run("train", "--kind", "sft", "--base", "tiny", "--teachers", "a,b"))
                .isEqualTo(ExitCode.FAILED);
        assertThat(output).contains("The run failed after 2 of 2 steps: no edit was accepted.");
        assertThat(api.seen("POST /training-runs").getLast().body())
                .contains("\"teachers\":[{\"model\":\"a\"},{\"model\":\"b\"}]");
    }

    @Test
    void options_that_are_missing_or_wrong_are_named() {
        assertThat(run("train", "--base", "tiny")).isEqualTo(ExitCode.USAGE);
        assertThat(errors).contains("option --kind is needed");
        assertThat(run(
                        "train",
                        "--kind",
                        "sft",
                        "--base",
                        "tiny",
                        "--method",
                        folder.resolve("none").toString()))
                .isEqualTo(ExitCode.USAGE);
        assertThat(errors).contains("can't be read");
        assertThat(run("models", "promote", "policy")).isEqualTo(ExitCode.USAGE);
        assertThat(errors).contains("'models promote' is incomplete");
    }

    @Test
    void a_version_that_is_not_better_is_not_promoted_and_the_exit_code_says_so() {
        api.on(
                "POST /models/policy/promote",
                409,
                "{\"code\":\"PROMOTION_REFUSED\",\"detail\":\"Refused: gain -0.10\",\"status\":409}");
        api.on("POST /models/policy/promote", 200, "{\"name\":\"policy\",\"serving\":\"" + VERSION + "\"}");
        assertThat(run("models", "promote", "policy", VERSION)).isEqualTo(ExitCode.GATE_FAILED);
        assertThat(output).contains("NOT PROMOTED").contains("gain -0.10");
        assertThat(run("models", "promote", "policy", VERSION, "--force", "--reason", "a try"))
                .isEqualTo(ExitCode.DONE);
        assertThat(api.seen("POST /models/policy/promote").getLast().body())
                .contains("\"force\":true")
                .contains("a try");
    }

    @Test
    void a_harness_is_scored_on_a_split() throws Exception {
        api.on("POST /evaluations", 202, "{\"id\":\"evl_1\",\"state\":\"queued\"}");
        api.on("GET /evaluations/evl_1", 200, """
                {"id":"evl_1","state":"succeeded","score":{"mean":0.75,"strict":0.5,"n":4,"ci":{"low":0.25,"high":1.0}},
                 "by_code":{"OK":4},"progress":{"done":4,"planned":4}}""");
        Path harness = Files.writeString(folder.resolve("harness.py"), "def run(question, env):\n    return '1'\n");
        ExitCode code = run(
                "eval",
                "--task",
                "chain_sum",
                "--harness",
                harness.toString(),
                "--split",
                "held_out",
                "--repeat",
                "1",
                "--held-out",
                "4",
                "--solver",
                "tiny");
        assertThat(code).as(errors).isEqualTo(ExitCode.DONE);
        JsonNode sent =
                Json.mapper().readTree(api.seen("POST /evaluations").getLast().body());
        assertThat(sent).isEqualTo(Json.mapper().readTree("""
                {"task":{"reasoning_gym":{"family":"chain_sum"}},
                 "harness":{"source":"def run(question, env):\\n    return '1'\\n"},
                 "splits":{"held_out":4},"solver":{"model":"tiny"},"split":"held_out","repeat":1}"""));
        assertThat(output).contains("0.750 [0.250, 1.000], n 4, 0.500 right in full");
        assertThat(run("eval", "--task", "chain_sum", "--proposer", "tiny")).isEqualTo(ExitCode.USAGE);
    }

    @Test
    void versions_are_listed_with_the_one_that_is_served() {
        api.on("GET /models/policy/versions", 200, """
                {"name":"policy","base":"tiny","serving":"%s","data":[
                  {"id":"%s","kind":"grpo","step":2,"run":"trn_2"},
                  {"id":"sha256:b","kind":"sft","step":80,"run":"trn_1"}]}""".formatted(VERSION, VERSION));
        assertThat(run("models", "versions", "policy")).isEqualTo(ExitCode.DONE);
        assertThat(output)
                .contains("policy, base tiny, serves " + VERSION)
                .contains("* " + VERSION + "  grpo")
                .contains("  sha256:b  sft");
        api.on("POST /models/policy/rollback", 200, "{\"name\":\"policy\",\"serving\":null}");
        assertThat(run("models", "rollback", "policy")).isEqualTo(ExitCode.DONE);
        assertThat(output).contains("policy serves its base model again");
    }

    @Test
    void an_adapter_is_imported_from_a_folder_or_a_zip_under_the_hash_of_its_files() throws IOException {
        byte[] config = "{\"r\": 8}".getBytes(StandardCharsets.UTF_8);
        byte[] weights = {1, 2, 3};
        Path adapter = Files.createDirectories(folder.resolve("adapter"));
        Files.write(adapter.resolve(LoraAdapter.CONFIG_FILE), config);
        assertThat(run("models", "import", adapter.toString(), "--base", "tiny"))
                .isEqualTo(ExitCode.USAGE);
        assertThat(errors).contains("holds no adapter_model.safetensors");
        Files.write(adapter.resolve(LoraAdapter.WEIGHTS_FILE), weights);
        assertThat(run("models", "import", adapter.toString())).isEqualTo(ExitCode.USAGE);
        assertThat(errors).contains("--base");

        String version = LoraAdapter.hash(config, weights);
        String call = "PUT /models/versions/" + version + "/adapter?base=tiny";
        api.on(call, 200, "{\"version\":{\"id\":\"" + version + "\"}}");
        assertThat(run("models", "import", adapter.toString(), "--base", "tiny"))
                .isEqualTo(ExitCode.DONE);
        assertThat(output).isEqualTo("Imported tiny@" + version + ".\n");

        Path zip = Files.write(
                folder.resolve("adapter.zip"), AdapterZip.of(adapter).bytes());
        assertThat(run("models", "import", zip.toString(), "--base", "tiny")).isEqualTo(ExitCode.DONE);
        assertThat(api.seen(call))
                .hasSize(2)
                .allSatisfy(seen -> assertThat(seen.body())
                        .startsWith("PK")
                        .contains(LoraAdapter.CONFIG_FILE, LoraAdapter.WEIGHTS_FILE));
        assertThat(run("models", "import", folder.resolve("none.zip").toString(), "--base", "tiny"))
                .isEqualTo(ExitCode.USAGE);
        assertThat(errors).contains("none.zip can't be read");
        Files.writeString(zip, "no zip");
        assertThat(run("models", "import", zip.toString(), "--base", "tiny")).isEqualTo(ExitCode.USAGE);
    }
}
