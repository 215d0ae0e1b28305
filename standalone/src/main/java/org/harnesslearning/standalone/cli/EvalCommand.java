package org.harnesslearning.standalone.cli;

import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.databind.JsonNode;

/** {@code harness eval}: scores one harness. */
final class EvalCommand {
    static final String HELP = """
            Usage: ./harness eval --task FILE.jsonl|FAMILY|tsk_… [options]

            Scores a harness on the questions of one split.

              --harness FILE        the harness; default: the task's seed harness
              --split NAME          feedback, dev (default) or held_out
              --repeat N            another number scores the same questions anew instead of taking stored scores (0)
              --scorer NAME --description TEXT --task-seed N     of the task, as for adapt
              --feedback N --dev N --held-out N   questions by split
              --solver NAME         model behind env.llm
              --calls N --tokens N --wall-clock S   budget
              --seed N
              --allow-missing-held-out            accept own items without held-out ones
              --json                print the finished resource instead of a summary
              --url URL --key KEY   another platform; default: HARNESS_URL and HARNESS_KEY, else the one of ./harness up

            Exit codes: 0 finished; 2 wrong options or request; 3 the evaluation failed; 4 the platform can't be reached or
            refuses the key.
            """;

    private static final Set<String> FROM_RUN_REQUEST = Set.of(
            "harness",
            "task",
            "task-seed",
            "scorer",
            "description",
            "feedback",
            "dev",
            "held-out",
            "solver",
            "seed",
            "calls",
            "tokens",
            "wall-clock");

    private EvalCommand() {}

    static ExitCode run(List<String> given, Surroundings surroundings) {
        Set<String> named = new HashSet<>(FROM_RUN_REQUEST);
        named.addAll(Surroundings.OPTIONS);
        named.addAll(Set.of("split", "repeat"));
        Set<String> flags = new HashSet<>(RunRequest.FLAGS);
        flags.add("json");
        Arguments arguments = Arguments.parse(given, named, flags);
        PrintStream out = surroundings.out();
        try (Api api = surroundings.connect(arguments)) {
            Map<String, Object> body = new LinkedHashMap<>(RunRequest.of(arguments, api));
            arguments.text("split").ifPresent(split -> body.put("split", split));
            arguments.integer("repeat", 0).ifPresent(repeat -> body.put("repeat", repeat));
            boolean json = arguments.flag("json");
            JsonNode run = api.post("/evaluations", body, 0);
            String path = "/evaluations/" + run.path("id").asString("");
            if (!json) {
                out.println("Started " + api.base() + path);
            }
            if (!RunFollower.ended(run)) {
                try (Progress progress = new Progress(
                        json ? new PrintStream(OutputStream.nullOutputStream()) : out,
                        !json && surroundings.terminal(),
                        0,
                        surroundings.nanoTime())) {
                    run = new RunFollower(api, progress, Duration.ofSeconds(1)).follow(path, false);
                }
            }
            if (json) {
                out.println(Json.write(run));
            } else {
                summary(run, out);
            }
            return run.path("state").asString("").equals("succeeded") ? ExitCode.DONE : ExitCode.FAILED;
        }
    }

    private static void summary(JsonNode run, PrintStream out) {
        String state = run.path("state").asString("");
        if (!state.equals("succeeded")) {
            out.println("The evaluation " + state + ": "
                    + run.path("message").asString(run.path("stop_reason").asString("no reason given")) + ".");
        }
        JsonNode score = run.path("score");
        if (score.isObject()) {
            JsonNode interval = score.path("ci");
            out.printf(
                    Locale.ROOT,
                    "Score %.3f on %d questions%s, %.3f right in full%n",
                    score.path("mean").asDouble(0),
                    score.path("n").asInt(0),
                    interval.has("low")
                            ? String.format(
                                    Locale.ROOT,
                                    " [%.3f, %.3f]",
                                    interval.path("low").asDouble(0),
                                    interval.path("high").asDouble(0))
                            : "",
                    score.path("strict").asDouble(0));
        }
        run.path("by_code")
                .properties()
                .forEach(entry -> out.printf(
                        Locale.ROOT,
                        "  %-22s %4d%n",
                        entry.getKey(),
                        entry.getValue().asInt(0)));
        Texts.usage(run.path("usage")).forEach(out::println);
    }
}
