package org.harnesslearning.standalone.cli;

import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.databind.JsonNode;

/** {@code harness revise}: one step of the loop. */
final class ReviseCommand {
    static final String HELP = """
            Usage: ./harness revise --task FILE.jsonl|FAMILY [options]

            Runs the harness on the feedback questions, asks the proposer for edits and scores them on the dev questions.

              --out FILE            where the best candidate's harness goes
              --no-evaluate         return the edits without running them
              --json                print the finished resource instead of a summary
            """ + RunRequest.HELP + """

            Exit codes: 0 finished; 2 wrong options or request; 3 the revision failed; 4 the platform can't be reached or
            refuses the key.
            """;

    private ReviseCommand() {}

    static ExitCode run(List<String> given, Surroundings surroundings) {
        Set<String> named = new HashSet<>(RunRequest.OPTIONS);
        named.addAll(Surroundings.OPTIONS);
        named.add("out");
        Set<String> flags = new HashSet<>(RunRequest.FLAGS);
        flags.addAll(Set.of("json", "no-evaluate"));
        Arguments arguments = Arguments.parse(given, named, flags);
        try (Api api = surroundings.connect(arguments)) {
            Map<String, Object> body = new LinkedHashMap<>(RunRequest.of(arguments, api));
            if (arguments.flag("no-evaluate")) {
                body.put("evaluate", false);
            }
            JsonNode run = api.post("/revise", body, 0);
            String path = "/revisions/" + run.path("id").asString("");
            boolean json = arguments.flag("json");
            if (!json) {
                surroundings.out().println("Started " + api.base() + path);
            }
            if (!RunFollower.ended(run)) {
                Surroundings shown = surroundings;
                try (Progress progress = new Progress(
                        json ? new java.io.PrintStream(java.io.OutputStream.nullOutputStream()) : shown.out(),
                        !json && shown.terminal(),
                        0,
                        shown.nanoTime())) {
                    run = new RunFollower(api, progress, Duration.ofSeconds(1)).follow(path, false);
                }
            }
            JsonNode best = null;
            for (JsonNode candidate : candidates(run)) {
                if (!json) {
                    surroundings.out().println("  " + Texts.candidate(1, candidate));
                }
                best = better(best, candidate);
            }
            if (json) {
                surroundings.out().println(Json.write(run));
            } else {
                Texts.usage(run.path("usage")).forEach(surroundings.out()::println);
            }
            if (arguments.text("out").isPresent() && best != null) {
                RunRequest.writeHarness(api, best.path("harness").asString(""), Path.of(arguments.required("out")));
                if (!json) {
                    surroundings
                            .out()
                            .println("Candidate " + best.path("index").asInt(0) + " is in " + arguments.required("out")
                                    + ".");
                }
            }
            return run.path("state").asString("").equals("succeeded") ? ExitCode.DONE : ExitCode.FAILED;
        }
    }

    private static JsonNode candidates(JsonNode run) {
        JsonNode own = run.path("candidates");
        return own.isArray() ? own : run.path("rounds").path(0).path("candidates");
    }

    /** The candidate with the higher dev mean, the earlier one on a tie; without scores, the first with a harness. */
    private static @org.jspecify.annotations.Nullable JsonNode better(
            @org.jspecify.annotations.Nullable JsonNode best, JsonNode candidate) {
        if (candidate.path("harness").asString("").isEmpty()) {
            return best;
        }
        return best == null || mean(candidate) > mean(best) ? candidate : best;
    }

    private static double mean(JsonNode candidate) {
        return candidate.path("score").path("mean").asDouble(-1);
    }
}
