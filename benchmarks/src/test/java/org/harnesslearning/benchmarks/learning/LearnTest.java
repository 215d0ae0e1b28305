package org.harnesslearning.benchmarks.learning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.standalone.smoke.SmokeEdits;
import org.harnesslearning.standalone.smoke.TinyCheckpoint;
import org.harnesslearning.tasks.SeedHarness;
import org.harnesslearning.testing.PlatformProcess;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The experiment from corpus to tables on the real platform, with a tiny model and a recorded teacher. */
@RequiresDocker
@RequiresPostgres
class LearnTest {
    @TempDir
    private Path folder;

    private String url = "";
    private String key = "";

    private PlatformProcess start() throws Exception {
        Path checkpoint = folder.resolve("tiny");
        TinyCheckpoint.write(checkpoint, String.join("\n", SmokeEdits.replies()), 1);
        Path edits = Files.writeString(folder.resolve("edits.jsonl"), SmokeEdits.recorded());
        PlatformProcess platform = PlatformProcess.start(
                folder.resolve("data"),
                List.of("-XX:+UseSerialGC", "-Xmx1g", "-Djava.io.tmpdir=" + folder),
                List.of(
                        "solver.discover=false",
                        "solver.models[0].name=tiny",
                        "solver.models[0].kind=local",
                        "solver.models[0].checkpoint=" + checkpoint,
                        "solver.models[1].name=recorded",
                        "solver.models[1].kind=recorded",
                        "solver.models[1].file=" + edits,
                        "solver.adapters.max-resident=4",
                        "solver.defaults.max-sequence=2048",
                        "trainer.checkpoints.tiny=" + checkpoint,
                        "proposer.default-model=tiny"));
        url = platform.api().url();
        key = platform.api().key();
        return platform;
    }

    private List<String> arguments(Path out, String stage, String... options) {
        List<String> arguments = new ArrayList<>(List.of(stage));
        arguments.addAll(List.of(
                "--out",
                out.toString(),
                "--url",
                url,
                "--key",
                key,
                "--model",
                "tiny",
                "--poll-ms",
                "100",
                "--in-flight",
                "4",
                "--feedback",
                "2",
                "--dev",
                "4",
                "--solver-max-tokens",
                "8",
                "--max-tokens",
                "160",
                "--minutes",
                "5",
                "--families",
                "chain_sum",
                "--gradient-checkpointing",
                "false",
                "--temperature",
                "1",
                "--top-p",
                "1"));
        arguments.addAll(List.of(options));
        return arguments;
    }

    /** Runs a stage and returns what it says. */
    private String learn(Path out, String stage, String... options) throws Exception {
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        boolean complete =
                Learn.run(arguments(out, stage, options), new PrintStream(said, true, StandardCharsets.UTF_8));
        String text = said.toString(StandardCharsets.UTF_8);
        assertThat(complete).as(text).isTrue();
        return text;
    }

    @Test
    void what_a_teacher_showed_is_learned_kept_in_files_and_measured() throws Exception {
        Path out = folder.resolve("out");
        try (PlatformProcess platform = start()) {
            assertThat(platform.handle().isAlive()).isTrue();
            String[] corpus = {
                "--teacher",
                "recorded",
                "--demonstrations",
                "none",
                "--candidates",
                "4",
                "--passes",
                "1",
                "--held-out-share",
                "0"
            };
            assertThat(learn(out, "corpus", corpus)).contains("accepted=");
            int edits = new RawFile(out, Experiment.CORPUS).lines("edit").size();
            assertThat(edits).isEqualTo(4);
            assertThat(learn(out, "corpus", corpus))
                    .as("a second start orders nothing")
                    .doesNotContain("gathers");
            editsOfEditedHarnesses(out, corpus);

            // What another platform would lack comes from the files.
            forgetCorpus(out);
            String trained = learn(
                    out,
                    "sft",
                    "--epochs",
                    "50",
                    "--batch",
                    "4",
                    "--rank",
                    "16",
                    "--alpha",
                    "64",
                    "--learning-rate",
                    "5e-3",
                    "--share-of-best",
                    "0.5",
                    "--evaluate-every",
                    "1000");
            assertThat(trained).contains("brought the corpus", "sft step 50:", "kept in");
            assertThat(learn(out, "sft")).contains("done before");
            assertThat(learn(
                            out,
                            "grpo",
                            "--groups",
                            "1",
                            "--candidates",
                            "3",
                            "--steps",
                            "1",
                            "--iterations",
                            "2",
                            "--normalization",
                            "mean",
                            "--states",
                            "0",
                            "--distinct",
                            "true",
                            "--entropy",
                            "0.001",
                            "--check",
                            "false"))
                    .contains("grpo step 1:");
            samplesAreKept(out);
            thePolicyTeachesItself(out);

            String[] evaluation = {
                "--parts",
                "revisions,chains,best",
                "--proposals",
                "4",
                "--rounds",
                "1",
                "--held-out",
                "2",
                "--arms",
                "untrained,sft"
            };
            learn(out, "evaluate", evaluation);
            assertThat(learn(out, "evaluate", evaluation)).contains("0 pieces of work to do");
            measuredAgain(out);
            anOutageIsSaid();
        }
        // No platform any more.
        String report = learn(out, "report");
        assertThat(report).contains("## Corpus", "## Training: sft", "## Samples: grpo", "### Sequential");
        List<String> sft = report.lines()
                .filter(line -> line.startsWith("| sft |"))
                .findFirst()
                .map(line -> List.of(line.split(" \\| ")))
                .orElseThrow();
        assertThat(sft.get(4)).as("valid edits of the trained model").doesNotStartWith("0 %");
        List<JsonNode> proposals = new RawFile(out, Experiment.OUTCOMES).lines("proposal");
        assertThat(proposals).hasSize(8);
        assertThat(proposals)
                .filteredOn(line -> line.path("arm").asString("").equals("sft"))
                .allSatisfy(line -> assertThat(line.path("reply").asString("")).isNotEmpty());
    }

    /** A pass from what the corpus has: its parents are harnesses that an accepted edit made. */
    private void editsOfEditedHarnesses(Path out, String... corpus) throws Exception {
        String[] options = Arrays.copyOf(corpus, corpus.length + 2);
        options[corpus.length] = "--edited";
        options[corpus.length + 1] = "1";
        assertThat(learn(out, "corpus", options)).contains("corpus, pass 201:");
        assertThat(new RawFile(out, Experiment.CORPUS).lines("edit"))
                .filteredOn(line -> line.path("pass").asInt(0) == 201)
                .hasSize(4)
                .allSatisfy(line -> assertThat(line.at("/row/harness").asString(""))
                        .isNotEmpty()
                        .isNotEqualTo(Hashes.harness(SeedHarness.MINIMAL)));
    }

    /** A version writes a corpus of its own, from which its training goes on; versions that nobody has are left out. */
    private void thePolicyTeachesItself(Path out) throws Exception {
        Path own = folder.resolve("own");
        String version = new RawFile(out, Experiment.VERSIONS)
                .lines()
                .getFirst()
                .path("version")
                .asString("");
        RawFile known = new RawFile(own, Experiment.VERSIONS);
        Files.createDirectories(own);
        ObjectNode lost = Json.mapper().createObjectNode();
        lost.put("version", "sha256:" + "0".repeat(64)).put("stage", "grpo").put("base", "tiny");
        lost.putArray("files").add("adapter-000000000000.zip");
        known.add(List.of(lost));
        assertThat(learn(own, "import"))
                .contains("is not in the folder: it is left out", "the platform has 0 corpora and 0 versions");

        String[] teacher = {
            "--teacher", "tiny@" + version, "--demonstrations", "none", "--candidates", "4", "--passes", "1"
        };
        assertThat(learn(own, "corpus", teacher)).contains("accepted=");
        assertThat(learn(own, "sft", "--from", version, "--epochs", "1", "--rank", "16", "--alpha", "64"))
                .contains("sft step 1:");
        assertThat(new RawFile(own, Experiment.TRAINING).lines("ordered"))
                .singleElement()
                .satisfies(line ->
                        assertThat(line.at("/request/parent").asString("")).isEqualTo(version));
    }

    /** Another folder takes over the adapters; a version whose adapter is nowhere is left out and said to be. */
    private void measuredAgain(Path out) throws Exception {
        Path again = folder.resolve("again");
        RawFile versions = new RawFile(out, Experiment.VERSIONS);
        ObjectNode lost = ((ObjectNode) versions.lines().getFirst()).deepCopy();
        lost.put("stage", "grpo").put("version", "sha256:" + "0".repeat(64)).put("final", false);
        lost.putArray("files").add("adapter-000000000000.zip");
        versions.add(List.of(lost));

        String measured = learn(
                again,
                "evaluate",
                "--adapters",
                out.toString(),
                "--arms",
                "sft",
                "--parts",
                "revisions",
                "--proposals",
                "1");
        assertThat(measured)
                .as("the version before the lost one is there")
                .contains("sft chain_sum:")
                .doesNotContain("is not in the folder");
        Path without = Files.createDirectories(folder.resolve("without"));
        new RawFile(without, Experiment.VERSIONS).add(List.of(lost));
        assertThat(learn(without, "evaluate", "--parts", "revisions", "--arms", "untrained", "--proposals", "1"))
                .contains("stage grpo is not in the folder", "no version of the stage sft");
        assertThat(new RawFile(again, Experiment.OUTCOMES).lines("proposal")).hasSize(1);
        assertThatThrownBy(() -> learn(again, "evaluate", "--grpo-version", "sha256:" + "0".repeat(64)))
                .isInstanceOf(LearnException.class)
                .hasMessageContaining("neither in");
    }

    /** The recorded teacher is no solver that answers a lone question: its run pauses, and the reason is said. */
    private void anOutageIsSaid() throws Exception {
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        boolean complete = Learn.run(
                arguments(
                        folder.resolve("outage"),
                        "evaluate",
                        "--solver",
                        "recorded",
                        "--arms",
                        "untrained",
                        "--parts",
                        "revisions",
                        "--minutes",
                        "0.2"),
                new PrintStream(said, true, StandardCharsets.UTF_8));
        String text = said.toString(StandardCharsets.UTF_8);
        assertThat(complete).as(text).isFalse();
        assertThat(text).contains(" paused: ", "The solver refuses the settings", "1 left undone");
        String run = text.lines()
                .filter(line -> line.contains(" paused: "))
                .findFirst()
                .map(line -> line.replaceFirst(".* (rev_\\w+) paused: .*", "$1"))
                .orElseThrow();
        try (PlatformClient client = new PlatformClient(url, key)) {
            client.control("/revisions/" + run + "/cancel");
            String state = "";
            for (int look = 0; look < 600 && !state.equals("cancelled"); look++) {
                PlatformClient.pause(Duration.ofMillis(100));
                state = client.get("/revisions/" + run).path("state").asString("");
            }
            assertThat(state).as("nobody waits for it any more").isEqualTo("cancelled");
        }
    }

    /** All samples of the step are there with their replies, and a second look adds none. */
    private void samplesAreKept(Path out) {
        List<JsonNode> groups = new RawFile(out, Experiment.SAMPLES).lines("group");
        assertThat(groups).hasSize(1);
        JsonNode group = groups.getFirst();
        assertThat(group.path("stage").asString("")).isEqualTo("grpo");
        assertThat(group.path("step").asInt(0)).isEqualTo(1);
        assertThat(group.path("state").asString("")).isEqualTo("sampled");
        assertThat(group.path("samples").size()).isEqualTo(3);
        assertThat(group.path("samples")).allSatisfy(sample -> {
            assertThat(sample.path("reply").asString("")).isNotEmpty();
            assertThat(sample.path("tokens").asInt(0)).isPositive();
            assertThat(sample.path("mean_logprob").asDouble(1)).isNotPositive();
            assertThat(sample.path("diff").asString("").isEmpty())
                    .isEqualTo(sample.path("harness").asString("").isEmpty());
        });
        try (Experiment experiment = new Experiment(
                out,
                new PlatformClient(url, key),
                "tiny",
                new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8),
                new Jobs.Deadline(1),
                Duration.ofMillis(100))) {
            new Samples(experiment, "grpo").read(group.path("training_run").asString(""), 0, 1, 1, true);
        }
        assertThat(new RawFile(out, Experiment.SAMPLES).lines("group")).isEqualTo(groups);
    }

    private void forgetCorpus(Path out) {
        String run = new RawFile(out, Experiment.CORPUS)
                .lines("edit")
                .getFirst()
                .path("run")
                .asString("");
        try (PlatformClient client = new PlatformClient(url, key)) {
            client.delete("/training-runs/" + run);
            assertThat(client.find("/training-runs/" + run)).isEmpty();
        }
    }
}
