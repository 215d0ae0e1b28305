package org.harnesslearning.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.standalone.cli.HarnessCommand;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * {@code examples/tool-agent} as its README runs it: image, tool server, configuration, platform, command line. The proposer's
 * one reply comes from a file; the scores are calculated by the harness, in real containers with the real tool.
 */
@RequiresDocker
@RequiresModel
@RequiresPostgres
class ToolAgentExampleTest {
    private static final Path ROOT = SharedData.root();
    private static final Path EXAMPLE = ROOT.resolve("examples/tool-agent");
    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();
    private static final String EDIT = "Articles are asked for in the singular.\n<<<<<<< SEARCH\n"
            + "    return env.tool(\"prices\", {\"article\": article})[\"cents\"]\n=======\n"
            + "    return env.tool(\"prices\", {\"article\": article.removesuffix(\"s\")})[\"cents\"]\n>>>>>>> REPLACE\n";

    @TempDir
    static Path folder;

    private static final List<Process> STARTED = new ArrayList<>();
    private static String url;
    private static String key;
    private static String token;

    @BeforeAll
    static void start() throws Exception {
        Path tokenFile = folder.resolve("prices-token");
        token = "example-token-" + System.nanoTime();
        Files.writeString(tokenFile, token + "\n");
        String address = started(
                        "prices at ",
                        List.of(JAVA, EXAMPLE.resolve("ToolServer.java").toString(), "0", tokenFile.toString()))
                .replaceFirst(".*prices at http://127.0.0.1:(\\d+)/price", "$1");
        Path data = folder.resolve("data");
        Files.createDirectories(data.resolve("config"));
        Files.writeString(
                data.resolve("config/harness-executor.yaml"),
                Files.readString(EXAMPLE.resolve("harness-executor.yaml"))
                        .replace("IMAGE", image())
                        .replace("PORT", address)
                        .replace("TOKEN_FILE", tokenFile.toString()));
        Path tape = Files.writeString(
                folder.resolve("tape.jsonl"), Json.write(Map.of("position", "1/0", "reply", EDIT)) + "\n");
        List<String> command = new ArrayList<>(List.of(
                JAVA,
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                StandaloneApplication.class.getName(),
                "--data",
                data.toString(),
                "--port",
                "0"));
        for (String property : List.of(
                "solver.models[0].name=tape",
                "solver.models[0].kind=recorded",
                "solver.models[0].file=" + tape,
                "proposer.default-model=tape")) {
            command.addAll(List.of("--set", property));
        }
        String ready = started("[standalone] ready", command);
        url = ready.substring(ready.indexOf("http://"));
        key = Files.readString(data.resolve("admin-key")).strip();
    }

    /** Starts a process and waits for a line that begins so. */
    private static String started(String begins, List<String> command) throws Exception {
        Process process = new ProcessBuilder(command)
                .directory(ROOT.toFile())
                .redirectErrorStream(true)
                .start();
        STARTED.add(process);
        StringBuilder output = new StringBuilder();
        BufferedReader lines = process.inputReader();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            output.append(line).append('\n');
            if (line.startsWith(begins)) {
                // What it prints later must not fill the pipe.
                Thread.ofVirtual().start(() -> lines.lines().forEach(rest -> {}));
                return line;
            }
        }
        throw new AssertionError("not started:\n" + output);
    }

    private static String image() throws Exception {
        ProcessBuilder derive = new ProcessBuilder(
                        "bash",
                        ROOT.resolve("harness-executor/sandbox-image/derive.sh").toString(),
                        EXAMPLE.resolve("image").toString(),
                        "money")
                .redirectError(folder.resolve("derive.err").toFile());
        // The example adds a file of the checkout and needs no index.
        derive.environment().put("HARNESS_BUILD_NETWORK", "none");
        Process process = derive.start();
        String name = new String(process.getInputStream().readAllBytes()).strip();
        assertThat(process.waitFor())
                .as(Files.readString(folder.resolve("derive.err")))
                .isZero();
        return name;
    }

    @AfterAll
    static void stop() throws Exception {
        for (Process process : STARTED.reversed()) {
            process.destroy();
            if (!process.waitFor(60, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        }
    }

    /** What {@code ./harness} prints for these arguments. */
    private static JsonNode harness(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                JAVA,
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                HarnessCommand.class.getName()));
        command.addAll(List.of(arguments));
        command.addAll(List.of(
                "--task",
                "examples/tool-agent/task.jsonl",
                "--image",
                "money",
                "--tools",
                "prices",
                "--harness",
                "examples/tool-agent/harness.py",
                "--solver",
                "smollm2-135m",
                "--json",
                "--url",
                url,
                "--key",
                key));
        Path out = Files.createTempFile(folder, "out", ".json");
        Path errors = Files.createTempFile(folder, "err", ".txt");
        Process process = new ProcessBuilder(command)
                .directory(ROOT.toFile())
                .redirectOutput(out.toFile())
                .redirectError(errors.toFile())
                .start();
        assertThat(process.waitFor(120, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(Files.readString(errors)).isZero();
        return Json.mapper().readTree(Files.readString(out));
    }

    @Test
    void the_agent_is_scored_and_adapted_with_its_own_image_and_tool() throws Exception {
        JsonNode evaluation = harness("eval", "--split", "held_out");
        assertThat(evaluation.at("/score/mean").asDouble())
                .as("as the README says")
                .isEqualTo(0.4);
        assertThat(evaluation.at("/settings/sandbox").toString())
                .isEqualTo("{\"image\":\"money\",\"tools\":[\"prices\"]}");
        assertThat(evaluation.at("/usage/tools/calls").asInt()).isBetween(14, 20);
        assertThat(evaluation.at("/usage/tools/errors").asInt()).isEqualTo(6);

        Path better = folder.resolve("better.py");
        JsonNode run = harness(
                "adapt", "--rounds", "1", "--candidates", "1", "--demonstrations", "none", "--out", better.toString());
        assertThat(run.get("state").asString()).as(run.toString()).isEqualTo("succeeded");
        assertThat(run.at("/counts/scored").asInt()).isEqualTo(1);
        assertThat(run.at("/result/held_out/seed/mean").asDouble()).isEqualTo(0.4);
        assertThat(run.at("/result/held_out/result/mean").asDouble()).isEqualTo(1.0);
        assertThat(run.at("/usage/tools/unavailable").asInt(-1)).isZero();
        assertThat(better).content().contains("removesuffix").doesNotContain(token);
        assertThat(run.toString()).doesNotContain(token);
        assertThat(Files.readString(folder.resolve("data/logs/harness.log")))
                .doesNotContain(token)
                .doesNotContain("What do ");
    }
}
