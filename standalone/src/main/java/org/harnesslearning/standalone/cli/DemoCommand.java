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
import tools.jackson.databind.JsonNode;

/** {@code harness demo}: a real adaptation, explained. */
final class DemoCommand {
    static final String HELP = """
            Usage: ./harness demo [options]

            Sets everything up and adapts the seed harness of a Reasoning Gym family with a real local model as proposer and
            solver. The platform stays up afterwards; ./harness down stops it.

              --family NAME         any of the 47 families (chain_sum)
              --rounds N            (2)
              --candidates N        candidates a round (3)
              --feedback N --dev N --held-out N   questions by split (4, 6, 12)
              --demonstrations SET  earlier turns for the proposer (default); none for no set
              --model NAME          proposer and solver (qwen2.5-coder-1.5b)
              --small               qwen2.5-coder-0.5b instead: faster, weaker
              --learned             the proposer has learned: the adapter of docs/learned-proposer.md, no demonstrations
              --adapter FILE        the same with an adapter of yours for the model, as `models import` takes it
              --seed N              of the run (1)
              --out FILE            where the resulting harness goes
              --down                stop the platform at the end, if this command started it
              --url URL --key KEY   use another platform

            Exit codes: 0 the run finished, improved or not; 2 wrong options; 3 it failed; 4 the platform can't be reached.
            """;

    private static final String DEFAULT_MODEL = "qwen2.5-coder-1.5b";
    private static final String SMALL_MODEL = "qwen2.5-coder-0.5b";
    private static final int CALIBRATION_QUESTIONS = 2;
    private static final int CALIBRATION_SEED = 9_000;
    private static final int CALIBRATION_SEEDS = 500_000;

    private DemoCommand() {}

    static ExitCode run(List<String> given, Surroundings surroundings) {
        Set<String> named = new HashSet<>(Surroundings.OPTIONS);
        named.addAll(Set.of(
                "family",
                "rounds",
                "candidates",
                "feedback",
                "dev",
                "held-out",
                "demonstrations",
                "model",
                "adapter",
                "seed",
                "out"));
        Arguments arguments = Arguments.parse(given, named, Set.of("small", "down"));
        if (arguments.flag("small") && arguments.text("model").isPresent()) {
            throw CommandException.usage("--small and --model exclude each other");
        }
        String model =
                arguments.flag("small") ? SMALL_MODEL : arguments.text("model").orElse(DEFAULT_MODEL);
        String family = arguments.text("family").orElse("chain_sum");
        Estimate.Plan plan = new Estimate.Plan(
                arguments.integer("rounds", 1).orElse(2),
                arguments.integer("candidates", 1).orElse(3),
                arguments.integer("feedback", 1).orElse(4),
                arguments.integer("dev", 1).orElse(6),
                arguments.integer("held-out", 1).orElse(12));
        PrintStream out = surroundings.out();
        try (Api api = surroundings.connect(arguments)) {
            refuseRecorded(api, model);
            Optional<AdapterZip> adapter = arguments.text("adapter").map(file -> AdapterZip.of(Path.of(file)));
            adapter.ifPresent(zip -> zip.bring(api, model));
            String proposed = adapter.map(zip -> zip.under(model)).orElse(model);
            String demonstrations = arguments.text("demonstrations").orElse(adapter.isPresent() ? "none" : "default");
            printPlan(family, model, proposed, demonstrations, plan, out);
            Estimate estimate = calibrate(api, family, model, plan, surroundings);
            out.println("  expected     " + estimate + " on this machine, from a first measurement");
            out.println();
            Map<String, Object> body = new LinkedHashMap<>();
            body.put("task", Map.of("reasoning_gym", Map.of("family", family)));
            body.put("splits", Map.of("feedback", plan.feedback(), "dev", plan.dev(), "held_out", plan.heldOut()));
            body.put("candidates", plan.candidates());
            body.put("rounds", plan.rounds());
            Map<String, Object> proposer = new LinkedHashMap<>();
            proposer.put("model", proposed);
            proposer.put("demonstrations", demonstrations);
            body.put("proposer", proposer);
            body.put("solver", Map.of("model", model));
            arguments.integer("seed", 0).ifPresent(seed -> body.put("seed", seed));
            body.put("labels", Map.of("from", "demo"));
            JsonNode run = AdaptCommand.follow(api, body, surroundings);
            if (run.path("recorded").asBoolean(false)) {
                throw new CommandException(
                        ExitCode.FAILED, "the run used recorded replies; the demo shows real ones only");
            }
            Summary.print(api, run, out);
            String hash = run.path("result").path("harness").asString("");
            if (arguments.text("out").isPresent() && !hash.isEmpty()) {
                RunRequest.writeHarness(api, hash, Path.of(arguments.required("out")));
                out.println("The resulting harness is in " + arguments.required("out") + ".");
            }
            next(api, run, hash, surroundings);
            return run.path("state").asString("").equals("succeeded") ? ExitCode.DONE : ExitCode.FAILED;
        }
    }

    private static void refuseRecorded(Api api, String model) {
        for (JsonNode known : api.get("/models").path("data")) {
            if (known.path("id").asString("").equals(model)
                    && known.path("kind").asString("").equals("recorded")) {
                throw CommandException.usage(
                        "model " + model + " replays recorded replies; the demo shows real ones only");
            }
        }
    }

    private static void printPlan(
            String family, String model, String proposed, String demonstrations, Estimate.Plan plan, PrintStream out) {
        out.println("Plan");
        out.println("  task         Reasoning Gym family " + family);
        out.println("  model        " + model + ", as proposer and as solver, on this machine's processor");
        if (!proposed.equals(model)) {
            out.println("  adapter      the proposer's: " + proposed);
        }
        out.println("  questions    " + plan.feedback() + " feedback (in the proposer's report), " + plan.dev()
                + " dev (choose the best), " + plan.heldOut() + " held out (measured once, at the end)");
        out.println("  rounds       " + plan.rounds() + " of " + plan.candidates() + " candidates each");
        out.println("  examples     "
                + (demonstrations.equals("none")
                        ? "none"
                        : "demonstrations '" + demonstrations
                                + "', from other families; each one's own harness is scored beside the result"));
        out.println("  sandbox      one Docker container a harness and split, without network");
        out.flush();
    }

    /**
     * Scores the seed harness on questions that the run does not use: one to load the model and start the containers,
     * then some against the clock.
     */
    private static Estimate calibrate(
            Api api, String family, String model, Estimate.Plan plan, Surroundings surroundings) {
        surroundings
                .out()
                .println("  measuring    loading the model, then " + CALIBRATION_QUESTIONS + " questions ...");
        // Questions that an earlier demo asked would be answered from the cache.
        int seed = CALIBRATION_SEED
                + 2 * Math.floorMod(surroundings.nanoTime().getAsLong() / 1_000_000, CALIBRATION_SEEDS);
        evaluate(api, family, model, seed, 1, surroundings);
        long begin = surroundings.nanoTime().getAsLong();
        JsonNode run = evaluate(api, family, model, seed + 1, CALIBRATION_QUESTIONS, surroundings);
        double seconds = (surroundings.nanoTime().getAsLong() - begin) / 1e9;
        return Estimate.of(
                plan, CALIBRATION_QUESTIONS, seconds, run.path("usage").path("solver"));
    }

    private static JsonNode evaluate(
            Api api, String family, String model, int seed, int questions, Surroundings surroundings) {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("task", Map.of("reasoning_gym", Map.of("family", family, "seed", seed)));
        body.put("split", "dev");
        body.put("splits", Map.of("feedback", 1, "dev", questions, "held_out", 1));
        body.put("solver", Map.of("model", model));
        body.put("labels", Map.of("from", "demo calibration"));
        JsonNode run = api.post("/evaluations", body, 0);
        String path = "/evaluations/" + run.path("id").asString("");
        try (Progress progress =
                new Progress(surroundings.out(), surroundings.terminal(), 0, surroundings.nanoTime())) {
            run = new RunFollower(api, progress, Duration.ofMillis(200)).follow(path, false);
        }
        if (!run.path("state").asString("").equals("succeeded")) {
            throw new CommandException(
                    ExitCode.FAILED,
                    "the first measurement " + run.path("state").asString("") + ": "
                            + run.path("message")
                                    .asString(run.path("stop_reason").asString("no reason given")));
        }
        return run;
    }

    private static void next(Api api, JsonNode run, String hash, Surroundings surroundings) {
        PrintStream out = surroundings.out();
        String id = run.path("id").asString("");
        Path key = surroundings.data().resolve("admin-key");
        out.println();
        out.println("Where to look next");
        out.println("  API and schemas   " + api.base() + "/docs");
        out.println("  API key           " + key + " (scope admin)");
        String curl = "curl -H \"Authorization: Bearer $(cat " + key + ")\" " + api.base();
        out.println("  the whole run     " + curl + "/adaptations/" + id);
        out.println("  its report        " + curl + "/adaptations/" + id + "/report?format=markdown");
        out.println("  one candidate     " + curl + "/adaptations/" + id + "/rounds/1/candidates/0");
        if (!hash.isEmpty()) {
            out.println("  the result        " + curl + "/harnesses/" + hash);
        }
        out.println("  your own task     ./harness adapt --harness a.py --task t.jsonl --out b.py");
        out.println("  stop              ./harness down");
    }
}
