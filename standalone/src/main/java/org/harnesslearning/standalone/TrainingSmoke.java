package org.harnesslearning.standalone;

import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.standalone.smoke.SmokeEdits;
import org.harnesslearning.standalone.smoke.TinyCheckpoint;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;

/**
 * Trains a tiny random model through all services, as {@code ./harness train --smoke}: hand-written edits are executed and
 * learned (SFT), then the model's own edits are sampled, executed and learned from (GRPO). The result is promoted by the
 * comparison on the withheld families, served, and rolled back.
 */
public final class TrainingSmoke implements AutoCloseable {
    private static final String MODEL = "tiny";
    private static final String TEACHER = "recorded-edits";
    private static final String FAMILY = "chain_sum";
    private static final String PROMOTED = "tiny-trained";
    private static final int SFT_STEPS = 50;
    private static final int MOST_TOKENS = 240;
    private static final String ROLLOUT = """
            {"feedback": 2, "dev": 6, "temperature": 1, "top_p": 1, "max_tokens": %d, "solver_max_tokens": 8}
            """.formatted(MOST_TOKENS);
    private static final int GRPO_STEPS = 2;
    private static final String PROMPT = "Task\nAdd up numbers.\n\nCurrent harness\n";
    /** Few questions and one reply: the tiny model says the same each time. */
    private static final Map<String, Object> EVALUATION = Map.of(
            "feedback",
            2,
            "dev",
            5,
            "candidates",
            1,
            "proposer",
            Map.of("temperature", 0, "max_tokens", MOST_TOKENS),
            "solver",
            Map.of("max_tokens", 8));

    private final PrintStream out;
    private final Platform platform;
    private final DataFolder data;
    private final HttpClient client = HttpClient.newHttpClient();
    private final long begin = System.nanoTime();

    /**
     * What the training came to.
     *
     * @param sftLoss in nats a token, of the last step
     * @param validRate share of samples that were scored, over all steps of GRPO
     * @param spread groups whose rewards differ
     * @param before version after SFT
     * @param after version after GRPO
     * @param promotion of the version after SFT, against the base model
     * @param refusal of the version after GRPO, against the one after SFT: it recites the same edits
     * @param answerBefore the base model's greedy answer to the begin of a prompt
     * @param answerPromoted that of the promoted name
     * @param answerBack that of the promoted name after its roll back
     * @param answerAfter that of the version after GRPO, promoted by force
     */
    public record Result(
            double sftLoss,
            double validRate,
            long spread,
            String before,
            String after,
            Promotion promotion,
            Promotion refusal,
            String answerBefore,
            String answerPromoted,
            String answerBack,
            String answerAfter) {
        /** What the training did not do; empty when all is well. */
        public List<String> faults() {
            List<String> faults = new ArrayList<>();
            if (!(validRate > 0)) {
                faults.add("no sample of the trained model was a valid edit");
            }
            if (spread < 1) {
                faults.add("no group had rewards that differ");
            }
            if (before.equals(after)) {
                faults.add("GRPO did not change the weights");
            }
            if (!promotion.state().equals("promoted")) {
                faults.add("the version after SFT was not promoted: " + promotion.message());
            }
            if (!refusal.state().equals("refused")) {
                faults.add("a version that is no better than the serving one was not refused: " + refusal.message());
            }
            if (answerBefore.equals(answerPromoted) || answerBefore.equals(answerAfter)) {
                faults.add("the solver service answers the same with and without the adapter");
            }
            if (!answerBefore.equals(answerBack)) {
                faults.add("the solver service does not answer as the base model after the roll back");
            }
            return faults;
        }
    }

    /** How a comparison ended. */
    public record Promotion(String state, String message) {}

    /**
     * Starts the platform on a folder of its own.
     *
     * @param folder empty; the tiny model, the database and the logs go there
     * @param properties further ones for all services, as {@code name=value}
     */
    public TrainingSmoke(Path folder, List<String> properties, PrintStream out) throws IOException {
        this.out = out;
        Path checkpoint = folder.resolve("tiny");
        TinyCheckpoint.write(checkpoint, String.join("\n", SmokeEdits.replies()), 1);
        Path edits = Files.writeString(folder.resolve("edits.jsonl"), SmokeEdits.recorded());
        List<String> all = new ArrayList<>(List.of(
                "solver.discover=false",
                "solver.models[0].name=" + MODEL,
                "solver.models[0].kind=local",
                "solver.models[0].checkpoint=" + checkpoint,
                "solver.models[1].name=" + TEACHER,
                "solver.models[1].kind=recorded",
                "solver.models[1].file=" + edits,
                "solver.adapters.max-resident=4",
                "solver.defaults.max-sequence=2048",
                "trainer.checkpoints." + MODEL + "=" + checkpoint,
                "proposer.default-model=" + MODEL));
        all.addAll(properties);
        this.data = DataFolder.open(folder.resolve("data"));
        try {
            this.platform = Platform.start(new Options(data.path(), "127.0.0.1", 0, false, all), data);
        } catch (RuntimeException e) {
            data.close();
            throw e;
        }
        say("the platform runs at %s", platform.url());
    }

    /** Trains. */
    public Result run() {
        JsonNode sft = train(
                "sft",
                """
                {"teachers": [{"model": "%s", "demonstrations": "none"}], "states": 1, "candidates": %d,
                 "held_out_share": 0, "epochs": %d, "batch_size": %d, "evaluate_every": 1000,
                 "rollout": %s, "lora": {"rank": 64, "alpha": 128},
                 "optimizer": {"learning_rate": 2e-3, "warmup_share": 0.05}, "engine": {"gradient_checkpointing": false}}
                """.formatted(
                                TEACHER,
                                SmokeEdits.replies().size(),
                                SFT_STEPS,
                                SmokeEdits.replies().size(),
                                ROLLOUT),
                SFT_STEPS,
                null);
        double loss = sft.at("/metrics/loss").asDouble(Double.NaN);
        String before = sft.at("/result/version").asString("");
        say(
                "SFT: %d edits accepted; loss %.3f after %d steps",
                sft.at("/counts/corpus_accepted").asLong(-1),
                loss,
                sft.at("/progress/done").asLong(0));

        Promotion promotion = promote(before);
        say("the version after SFT is %s: %s", promotion.state(), promotion.message());
        String answerPromoted = ask(PROMOTED, PROMPT);

        JsonNode grpo = train("grpo", """
                {"candidates": 6, "groups_per_batch": 2, "groups_in_flight": 2, "rollout": %s,
                 "optimizer": {"learning_rate": 5e-5}, "engine": {"gradient_checkpointing": false}}
                """.formatted(ROLLOUT), GRPO_STEPS, before);
        double valid = 0;
        double spread = 0;
        JsonNode steps = get("/training-runs/" + grpo.path("id").asString("") + "/metrics")
                .path("data");
        for (JsonNode step : steps) {
            JsonNode metrics = step.path("metrics");
            say(
                    "GRPO step %d: valid rate %.2f, reward %.3f, groups without spread %.2f, gradient norm %.3g",
                    step.path("step").asInt(0),
                    metrics.path("valid_rate").asDouble(Double.NaN),
                    metrics.path("reward").asDouble(Double.NaN),
                    metrics.path("zero_spread_share").asDouble(Double.NaN),
                    metrics.path("grad_norm").asDouble(Double.NaN));
            valid += metrics.path("valid_rate").asDouble(0) / steps.size();
            spread += 2 * (1 - metrics.path("zero_spread_share").asDouble(1));
        }
        String after = grpo.at("/result/version").asString("");
        Promotion refusal = promote(after);
        say("the version after GRPO is %s: %s", refusal.state(), refusal.message());
        post("/models/" + PROMOTED + "/rollback", Map.of("reason", "smoke run"));
        String answerBack = ask(PROMOTED, PROMPT);
        post("/models/" + PROMOTED + "/promote", Map.of("version", after, "force", true, "reason", "smoke run"));
        Result result = new Result(
                loss,
                valid,
                Math.round(spread),
                before,
                after,
                promotion,
                refusal,
                ask(MODEL, PROMPT),
                answerPromoted,
                answerBack,
                ask(PROMOTED, PROMPT));
        say("the base answers: %s", shown(result.answerBefore()));
        say("the trained model answers: %s", shown(result.answerAfter()));
        return result;
    }

    /** Has a version compared with what the name serves, and waits for the decision. */
    private Promotion promote(String version) {
        JsonNode promotion =
                post("/models/" + PROMOTED + "/promote", Map.of("version", version, "evaluation", EVALUATION));
        String path = promotion.at("/links/self").asString("");
        while (promotion.path("finished_at").isNull()) {
            pause();
            promotion = get(path);
        }
        return new Promotion(
                promotion.path("state").asString(""), promotion.path("message").asString(""));
    }

    /** Orders a run and waits for its end. */
    private JsonNode train(String kind, String method, int steps, @Nullable String parent) {
        Map<String, Object> request = new LinkedHashMap<>();
        request.put("kind", kind);
        request.put("base_model", MODEL);
        request.put("families", List.of(FAMILY));
        request.put("budget", Map.of("steps", steps));
        request.put("method", Json.mapper().readTree(method));
        if (parent != null) {
            request.put("parent", parent);
        }
        JsonNode run = post("/training-runs", request);
        String path = "/training-runs/" + run.path("id").asString("");
        while (true) {
            switch (run.path("state").asString("")) {
                case "succeeded" -> {
                    return run;
                }
                case "failed", "cancelled", "paused" ->
                    throw new StandaloneException("the " + kind + " run "
                            + run.path("state").asString("") + ": "
                            + run.path("message").asString("no reason given"));
                default -> {
                    // Still on its way.
                }
            }
            pause();
            run = get(path);
        }
    }

    private static void pause() {
        try {
            Thread.sleep(200);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StandaloneException("interrupted");
        }
    }

    private String ask(String model, String text) {
        Map<String, Object> body = Map.of(
                "model",
                model,
                "messages",
                List.of(Map.of("role", "user", "content", text)),
                "temperature",
                0,
                "max_tokens",
                120);
        JsonNode answer = send(HttpRequest.newBuilder(
                        URI.create(platform.services().get(Service.SOLVER.module()) + "/v1/chat/completions"))
                .header("Authorization", "Bearer " + platform.secret())
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(Json.write(body), StandardCharsets.UTF_8)));
        return answer.at("/choices/0/message/content").asString("");
    }

    private JsonNode get(String path) {
        return send(request(path).GET());
    }

    private JsonNode post(String path, Object body) {
        return send(request(path)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(Json.write(body), StandardCharsets.UTF_8)));
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(platform.url() + path))
                .header("Authorization", "Bearer " + platform.adminKey());
    }

    private JsonNode send(HttpRequest.Builder request) {
        try {
            HttpResponse<String> answer = client.send(request.build(), BodyHandlers.ofString(StandardCharsets.UTF_8));
            if (answer.statusCode() >= 400) {
                throw new StandaloneException(
                        answer.uri().getPath() + " answers " + answer.statusCode() + ": " + answer.body());
            }
            return Json.mapper().readTree(answer.body());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StandaloneException("interrupted");
        }
    }

    private static String shown(String text) {
        String line = Json.write(text);
        return line.length() > 160 ? line.substring(0, 160) + "…" : line;
    }

    private void say(String text, Object... values) {
        long seconds = (System.nanoTime() - begin) / 1_000_000_000;
        out.printf(Locale.ROOT, "%d:%02d  %s%n", seconds / 60, seconds % 60, String.format(Locale.ROOT, text, values));
        out.flush();
    }

    @Override
    public void close() {
        client.close();
        platform.close();
        data.close();
    }

    /**
     * Trains on a temporary folder; exit code 1 when the training did not do what it must, 3 when it could not be tried.
     *
     * @param arguments {@code --set NAME=VALUE}
     */
    public static void main(String[] arguments) throws IOException {
        int code;
        Path folder = Files.createTempDirectory("harness-smoke");
        PrintStream out = System.out;
        try {
            Options options = Options.of(arguments, Map.of());
            StandaloneApplication.prepareLogging(folder, false);
            try (TrainingSmoke smoke = new TrainingSmoke(folder, options.properties(), out)) {
                List<String> faults = smoke.run().faults();
                faults.forEach(fault -> out.println("FAILED: " + fault));
                if (faults.isEmpty()) {
                    smoke.say("passed");
                }
                code = faults.isEmpty() ? 0 : 1;
            }
        } catch (RuntimeException e) {
            LoggerFactory.getLogger(TrainingSmoke.class).error("the smoke run ended", e);
            System.err.println("harness: " + e.getMessage());
            code = 3;
        }
        if (code == 0) {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.deleteIfExists(file);
                }
            }
        } else {
            System.err.println("harness: logs are in " + folder.resolve("logs"));
        }
        System.exit(code);
    }
}
