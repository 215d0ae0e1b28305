package org.harnesslearning.standalone.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code harness train}: a training run, followed to its end. */
final class TrainCommand {
    static final String HELP = """
            Usage: ./harness train --kind sft|grpo|multistep --base NAME [options]
                   ./harness train --smoke

            Trains an adapter of a model and stores it as a version of the model registry.

              --kind KIND           sft: on edits of teachers; grpo: on own edits; multistep: the same over several rounds
              --base NAME           the model, one of trainer.checkpoints; needed
              --families A,B        task families to train on (all that may be)
              --steps N             most steps of the optimiser (100)
              --parent sha256:…     version to begin from
              --teachers A,B        sft: models that write the edits; they see the default demonstrations
              --candidates N        edits of one state (8)
              --groups N            grpo, multistep: states of one step (4)
              --learning-rate X     highest one
              --rank N              of the adapter (16)
              --feedback N --dev N  questions of each state
              --solver NAME         model behind env.llm (the base)
              --method FILE.json    all further settings of the method, as in docs/training.md; the options above win
              --wall-clock S --calls N --tokens N   budget
              --checkpoint-every N  steps (10)
              --name TEXT --seed N
              --detach              print the run's id and leave
              --json                print the finished resource instead of a summary
              --smoke               train a tiny model through all services in a few minutes, and check that it did something
              --url URL --key KEY   another platform; default: HARNESS_URL and HARNESS_KEY, else the one of ./harness up

            Exit codes: 0 finished; 1 the smoke run failed; 2 wrong options or request; 3 the run failed or was cancelled;
            4 the platform can't be reached or refuses the key.
            """;

    private TrainCommand() {}

    static ExitCode run(List<String> given, Surroundings surroundings) {
        Set<String> named = new HashSet<>(Surroundings.OPTIONS);
        named.addAll(Set.of("kind", "base", "families", "steps", "parent", "teachers", "candidates", "groups"));
        named.addAll(Set.of("learning-rate", "rank", "feedback", "dev", "solver", "method", "wall-clock", "calls"));
        named.addAll(Set.of("tokens", "checkpoint-every", "name", "seed"));
        Arguments arguments = Arguments.parse(given, named, Set.of("json", "detach"));
        Map<String, Object> body = body(arguments);
        PrintStream out = surroundings.out();
        try (Api api = surroundings.connect(arguments)) {
            JsonNode run = api.post("/training-runs", body, 0);
            String path = "/training-runs/" + run.path("id").asString("");
            if (arguments.flag("detach")) {
                out.println(
                        arguments.flag("json")
                                ? Json.write(run)
                                : run.path("id").asString(""));
                return ExitCode.DONE;
            }
            boolean json = arguments.flag("json");
            PrintStream told = json ? new PrintStream(OutputStream.nullOutputStream()) : out;
            told.println("Started " + api.base() + path);
            run = new RunFollower(api, new TrainingProgress(told, surroundings.nanoTime()), Duration.ofSeconds(1))
                    .follow(path, true);
            if (json) {
                out.println(Json.write(run));
            } else {
                summary(run, api.get(path + "/metrics?limit=10000").path("data"), out);
            }
            return run.path("state").asString("").equals("succeeded") ? ExitCode.DONE : ExitCode.FAILED;
        }
    }

    private static Map<String, Object> body(Arguments arguments) {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("kind", arguments.required("kind"));
        body.put("base_model", arguments.required("base"));
        arguments.text("families").ifPresent(names -> body.put("families", names(names)));
        arguments.text("parent").ifPresent(parent -> body.put("parent", parent));
        arguments.text("name").ifPresent(name -> body.put("name", name));
        arguments.integer("seed", 0).ifPresent(seed -> body.put("seed", seed));
        arguments.integer("checkpoint-every", 1).ifPresent(n -> body.put("checkpoint_every", n));
        Map<String, Object> budget = new LinkedHashMap<>();
        arguments.integer("steps", 1).ifPresent(n -> budget.put("steps", n));
        arguments.integer("wall-clock", 1).ifPresent(n -> budget.put("wall_clock_s", n));
        arguments.integer("calls", 1).ifPresent(n -> budget.put("solver_calls", n));
        arguments.integer("tokens", 1).ifPresent(n -> budget.put("tokens", n));
        if (!budget.isEmpty()) {
            body.put("budget", budget);
        }
        ObjectNode method = arguments
                .text("method")
                .map(file -> method(Path.of(file)))
                .orElseGet(() -> Json.mapper().createObjectNode());
        arguments
                .text("teachers")
                .ifPresent(names -> method.set(
                        "teachers",
                        Json.mapper()
                                .valueToTree(names(names).stream()
                                        .map(name -> Map.of("model", name))
                                        .toList())));
        arguments.integer("candidates", 2).ifPresent(n -> method.put("candidates", n));
        arguments.integer("groups", 1).ifPresent(n -> method.put("groups_per_batch", n));
        arguments
                .number("learning-rate")
                .ifPresent(rate -> part(method, "optimizer").put("learning_rate", rate));
        arguments.integer("rank", 1).ifPresent(rank -> part(method, "lora").put("rank", rank));
        arguments.integer("feedback", 1).ifPresent(n -> part(method, "rollout").put("feedback", n));
        arguments.integer("dev", 1).ifPresent(n -> part(method, "rollout").put("dev", n));
        arguments.text("solver").ifPresent(name -> part(method, "rollout").put("solver_model", name));
        if (!method.isEmpty()) {
            body.put("method", method);
        }
        return body;
    }

    private static List<String> names(String list) {
        return Arrays.stream(list.split(","))
                .map(String::strip)
                .filter(name -> !name.isEmpty())
                .toList();
    }

    private static ObjectNode part(ObjectNode method, String name) {
        return method.path(name) instanceof ObjectNode part ? part : method.putObject(name);
    }

    private static ObjectNode method(Path file) {
        try {
            if (Json.mapper().readTree(Files.readString(file, StandardCharsets.UTF_8)) instanceof ObjectNode method) {
                return method;
            }
        } catch (JacksonException e) {
            // Said below.
        } catch (IOException e) {
            throw CommandException.usage(
                    file + " can't be read (" + e.getClass().getSimpleName() + ")");
        }
        throw CommandException.usage(file + " does not hold a JSON object");
    }

    private static void summary(JsonNode run, JsonNode steps, PrintStream out) {
        out.println();
        if (!steps.isEmpty()) {
            JsonNode first = steps.get(0).path("metrics");
            JsonNode last = steps.get(steps.size() - 1).path("metrics");
            out.printf(Locale.ROOT, "%-20s %12s %12s%n", "Metric", "first step", "last step");
            last.properties()
                    .forEach(entry -> out.printf(
                            Locale.ROOT,
                            "  %-18s %12s %12s%n",
                            entry.getKey(),
                            number(first.path(entry.getKey())),
                            number(entry.getValue())));
        }
        run.path("counts")
                .properties()
                .forEach(entry -> out.printf(
                        Locale.ROOT,
                        "  %-40s %12d%n",
                        entry.getKey().replace('_', ' '),
                        entry.getValue().asLong(0)));
        String state = run.path("state").asString("");
        out.printf(
                Locale.ROOT,
                "The run %s after %d of %d steps%s.%n",
                state,
                run.path("progress").path("done").asLong(0),
                run.path("progress").path("planned").asLong(0),
                run.path("message").asString("").isEmpty()
                        ? ""
                        : ": " + run.path("message").asString(""));
        String version = run.path("result").path("version").asString("");
        if (!version.isEmpty()) {
            out.println("Version  " + version);
            out.println("Serve it, if it beats what is served: ./harness models promote NAME " + version);
        }
    }

    private static String number(JsonNode value) {
        return value.isNumber() ? TrainingProgress.number(value.asDouble(0)) : "-";
    }
}
