package org.harnesslearning.standalone.cli;

import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.databind.JsonNode;

/** {@code harness adapt}: a whole adaptation, followed to its end. */
final class AdaptCommand {
    static final String HELP = """
            Usage: ./harness adapt --task FILE.jsonl|FAMILY [options]

            Adapts a harness over several rounds and writes the result.

              --out FILE            where the resulting harness goes
              --rounds N            (3)
              --selection POLICY    keep_incumbent (default) or best_of_round
              --min-gain X          gate: exit code 1 unless the held-out gain reaches X and its interval excludes 0
              --json                print the finished resource instead of a summary
            """ + RunRequest.HELP + """

            Exit codes: 0 finished (and the gate passed); 1 the gate failed; 2 wrong options or request; 3 the run failed or
            was cancelled; 4 the platform can't be reached or refuses the key.
            """;

    private AdaptCommand() {}

    static ExitCode run(List<String> given, Surroundings surroundings) {
        Set<String> named = new HashSet<>(RunRequest.OPTIONS);
        named.addAll(Surroundings.OPTIONS);
        named.addAll(Set.of("out", "rounds", "selection", "min-gain"));
        Set<String> flags = new HashSet<>(RunRequest.FLAGS);
        flags.add("json");
        Arguments arguments = Arguments.parse(given, named, flags);
        try (Api api = surroundings.connect(arguments)) {
            Map<String, Object> body = new LinkedHashMap<>(RunRequest.of(arguments, api));
            arguments.integer("rounds", 1).ifPresent(n -> body.put("rounds", n));
            arguments.text("selection").ifPresent(policy -> body.put("selection", policy));
            arguments.number("min-gain").ifPresent(gain -> body.put("gate", Map.of("min_gain", gain)));
            boolean json = arguments.flag("json");
            JsonNode run = follow(api, body, json ? silent(surroundings) : surroundings);
            if (json) {
                surroundings.out().println(Json.write(run));
            } else {
                Summary.print(api, run, surroundings.out());
            }
            if (arguments.text("out").isPresent()) {
                String hash = run.path("result").path("harness").asString("");
                if (!hash.isEmpty()) {
                    Path out = Path.of(arguments.required("out"));
                    RunRequest.writeHarness(api, hash, out);
                    if (!json) {
                        surroundings.out().println("The resulting harness is in " + out + ".");
                    }
                }
            }
            return exitCode(run);
        }
    }

    /** Starts an adaptation and waits for its end. */
    static JsonNode follow(Api api, Map<String, Object> body, Surroundings surroundings) {
        JsonNode run = api.post("/adapt", body, 0);
        String path = "/adaptations/" + run.path("id").asString("");
        surroundings.out().println("Started " + api.base() + path);
        int rounds = run.path("settings").path("rounds").asInt(0);
        try (Progress progress =
                new Progress(surroundings.out(), surroundings.terminal(), rounds, surroundings.nanoTime())) {
            return new RunFollower(api, progress, Duration.ofSeconds(1)).follow(path, true);
        }
    }

    static ExitCode exitCode(JsonNode run) {
        if (!run.path("state").asString("").equals("succeeded")) {
            return ExitCode.FAILED;
        }
        return run.path("result").path("gate").asString("none").equals("failed") ? ExitCode.GATE_FAILED : ExitCode.DONE;
    }

    private static Surroundings silent(Surroundings surroundings) {
        return new Surroundings(
                new PrintStream(java.io.OutputStream.nullOutputStream()),
                false,
                surroundings.environment(),
                surroundings.nanoTime());
    }
}
