package org.harnesslearning.standalone.cli;

import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
              --gate NAME=VALUE,…   exit code 1 unless it passes: min_gain (0.05), confidence (0.95), max_cost
              --min-gain X          short for --gate min_gain=X
              --json                print the finished resource instead of a summary
            """ + CiOptions.HELP + RunRequest.HELP + """

            Exit codes: 0 finished (and the gate passed); 1 the gate failed; 2 wrong options or request; 3 the run failed, was
            cancelled or took too long, or the platform can't be reached or refuses the key.
            """;

    private AdaptCommand() {}

    static ExitCode run(List<String> given, Surroundings surroundings) {
        Set<String> named = new HashSet<>(RunRequest.OPTIONS);
        named.addAll(Surroundings.OPTIONS);
        named.addAll(CiOptions.OPTIONS);
        named.addAll(Set.of("out", "rounds", "selection", "min-gain"));
        Set<String> flags = new HashSet<>(RunRequest.FLAGS);
        flags.addAll(CiOptions.FLAGS);
        flags.add("json");
        Arguments arguments = Arguments.parse(given, named, flags);
        Map<String, Object> ci = new LinkedHashMap<>();
        Map<String, Object> gate = CiOptions.gate(arguments, Set.of("min_gain", "confidence", "max_cost"));
        arguments.number("min-gain").ifPresent(gain -> {
            if (gate.put("min_gain", gain) != null) {
                throw CommandException.usage("--min-gain and min_gain of --gate exclude each other");
            }
        });
        CiOptions.put(arguments, ci);
        try (Api api = surroundings.connect(arguments)) {
            Map<String, Object> body = new LinkedHashMap<>(RunRequest.of(arguments, api));
            arguments.integer("rounds", 1).ifPresent(n -> body.put("rounds", n));
            arguments.text("selection").ifPresent(policy -> body.put("selection", policy));
            body.putAll(ci);
            if (!gate.isEmpty()) {
                body.put("gate", gate);
            }
            boolean json = arguments.flag("json");
            JsonNode run = api.post("/adapt", body, 0);
            String path = "/adaptations/" + run.path("id").asString("");
            if (arguments.flag("no-wait")) {
                surroundings
                        .out()
                        .println(json ? Json.write(run) : run.path("id").asString(""));
                return ExitCode.DONE;
            }
            Surroundings shown = json ? silent(surroundings) : surroundings;
            shown.out().println("Started " + api.base() + path);
            int rounds = run.path("settings").path("rounds").asInt(0);
            run = follow(api, path, rounds, true, CiOptions.timeout(arguments), shown);
            CiOptions.write(arguments, api, path);
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
            return CiOptions.exitCode(run);
        }
    }

    /** Starts an adaptation and waits for its end. */
    static JsonNode follow(Api api, Map<String, Object> body, Surroundings surroundings) {
        JsonNode run = api.post("/adapt", body, 0);
        String path = "/adaptations/" + run.path("id").asString("");
        surroundings.out().println("Started " + api.base() + path);
        int rounds = run.path("settings").path("rounds").asInt(0);
        return follow(api, path, rounds, true, Optional.empty(), surroundings);
    }

    /**
     * Waits for the end of a run.
     *
     * @param stream whether the run has events
     * @param timeoutS longest wait
     */
    static JsonNode follow(
            Api api, String path, int rounds, boolean stream, Optional<Integer> timeoutS, Surroundings surroundings) {
        try (Progress progress =
                new Progress(surroundings.out(), surroundings.terminal(), rounds, surroundings.nanoTime())) {
            RunFollower follower = new RunFollower(api, progress, Duration.ofSeconds(1));
            // A stream blocks while nothing happens, so a limited wait asks again and again instead.
            return timeoutS.isPresent()
                    ? follower.follow(path, Duration.ofSeconds(timeoutS.get()), surroundings.nanoTime())
                    : follower.follow(path, stream);
        }
    }

    private static Surroundings silent(Surroundings surroundings) {
        return new Surroundings(
                new PrintStream(java.io.OutputStream.nullOutputStream()),
                false,
                surroundings.environment(),
                surroundings.nanoTime());
    }
}
