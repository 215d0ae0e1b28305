package org.harnesslearning.standalone.cli;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/** Turns options into the body of {@code POST /adapt} and {@code POST /revise}; what is not given is left to the API. */
final class RunRequest {
    /** Options with a value. */
    static final Set<String> OPTIONS = Set.of(
            "harness",
            "task",
            "task-seed",
            "scorer",
            "description",
            "image",
            "tools",
            "feedback",
            "dev",
            "held-out",
            "candidates",
            "model",
            "proposer",
            "solver",
            "demonstrations",
            "reply-form",
            "seed",
            "calls",
            "tokens",
            "tool-calls",
            "wall-clock");

    /** Options without one. */
    static final Set<String> FLAGS = Set.of("allow-missing-held-out");

    static final String HELP = """
              --task FILE.jsonl|FAMILY|tsk_…  own items (JSON lines with question, answer, optional split), a Reasoning Gym
                                    family, or a task added before; needed
              --harness FILE        the starting harness; default: the task's seed harness
              --scorer NAME         for own items: exact (default), numeric, em, token_f1, regex, json
              --description TEXT    for own items: what the proposer is told about the task
              --image NAME          for own items: sandbox image of the operator's that harnesses run in
              --tools NAME,…        for own items: tools of the operator's that env.tool knows
              --task-seed N         for a family: seed of its questions (42)
              --feedback N --dev N --held-out N   questions by split
              --candidates N        candidates a round (4)
              --model NAME          proposer and solver; --proposer NAME and --solver NAME set one of them
              --demonstrations SET  earlier turns for the proposer; none for no set
              --reply-form FORM     search_replace or whole_file
              --calls N --tokens N --tool-calls N --wall-clock S   budget
              --seed N              of the run (1)
              --allow-missing-held-out            accept own items without held-out ones
              --url URL --key KEY   another platform; default: HARNESS_URL and HARNESS_KEY, else the one of ./harness up
            """;

    /** Options with a value of a run without a proposer. */
    static final Set<String> EVALUATION_OPTIONS = OPTIONS.stream()
            .filter(option -> !Set.of("candidates", "proposer", "demonstrations", "reply-form")
                    .contains(option))
            .collect(Collectors.toUnmodifiableSet());

    static final String EVALUATION_HELP = HELP.lines()
            .filter(line -> !line.matches("  --(candidates|demonstrations|reply-form) .*"))
            .map(line -> line.replace(
                    "proposer and solver; --proposer NAME and --solver NAME set one of them", "the solver"))
            .collect(Collectors.joining("\n", "", "\n"));

    private RunRequest() {}

    /** The body of an evaluation. Own items are uploaded first. */
    static Map<String, Object> evaluation(Arguments arguments, Api api) {
        Map<String, Object> body = new LinkedHashMap<>(of(arguments, api));
        body.remove("proposer");
        return body;
    }

    /** The body. Own items are uploaded first. */
    static Map<String, Object> of(Arguments arguments, Api api) {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("task", task(arguments, api));
        arguments.text("harness").ifPresent(file -> body.put("harness", Map.of("source", harness(Path.of(file)))));
        Map<String, Object> splits = new LinkedHashMap<>();
        arguments.integer("feedback", 0).ifPresent(n -> splits.put("feedback", n));
        arguments.integer("dev", 0).ifPresent(n -> splits.put("dev", n));
        arguments.integer("held-out", 0).ifPresent(n -> splits.put("held_out", n));
        putUnlessEmpty(body, "splits", splits);
        arguments.integer("candidates", 1).ifPresent(n -> body.put("candidates", n));
        Map<String, Object> proposer = new LinkedHashMap<>();
        arguments.text("proposer").or(() -> arguments.text("model")).ifPresent(name -> proposer.put("model", name));
        arguments.text("demonstrations").ifPresent(set -> proposer.put("demonstrations", set));
        arguments.text("reply-form").ifPresent(form -> proposer.put("reply_form", form));
        putUnlessEmpty(body, "proposer", proposer);
        arguments
                .text("solver")
                .or(() -> arguments.text("model"))
                .ifPresent(name -> body.put("solver", Map.of("model", name)));
        Map<String, Object> budget = new LinkedHashMap<>();
        arguments.integer("calls", 1).ifPresent(n -> budget.put("solver_calls", n));
        arguments.integer("tokens", 1).ifPresent(n -> budget.put("tokens", n));
        arguments.integer("tool-calls", 1).ifPresent(n -> budget.put("tool_calls", n));
        arguments.integer("wall-clock", 1).ifPresent(n -> budget.put("wall_clock_s", n));
        putUnlessEmpty(body, "budget", budget);
        arguments.integer("seed", 0).ifPresent(n -> body.put("seed", n));
        if (arguments.flag("allow-missing-held-out")) {
            body.put("allow_missing_held_out", true);
        }
        return body;
    }

    private static void putUnlessEmpty(Map<String, Object> body, String name, Map<String, Object> part) {
        if (!part.isEmpty()) {
            body.put(name, part);
        }
    }

    private static Map<String, Object> task(Arguments arguments, Api api) {
        String task = arguments.required("task");
        Path file = Path.of(task);
        boolean own = !task.startsWith("tsk_") && (task.endsWith(".jsonl") || task.contains("/") || Files.exists(file));
        if (!own
                && (arguments.text("image").isPresent()
                        || arguments.text("tools").isPresent())) {
            throw CommandException.usage("--image and --tools are for own items in a file");
        }
        if (task.startsWith("tsk_")) {
            return Map.of("id", task);
        }
        if (!own) {
            Map<String, Object> family = new LinkedHashMap<>();
            family.put("family", task);
            arguments.integer("task-seed", 0).ifPresent(seed -> family.put("seed", seed));
            return Map.of("reasoning_gym", family);
        }
        Map<String, Object> upload = new LinkedHashMap<>();
        upload.put("name", String.valueOf(file.getFileName()));
        upload.put(
                "description",
                arguments
                        .text("description")
                        .orElse("Answer the question. The answer is compared with the expected one."));
        upload.put("scorer", arguments.text("scorer").orElse("exact"));
        Map<String, Object> sandbox = new LinkedHashMap<>();
        arguments.text("image").ifPresent(name -> sandbox.put("image", name));
        arguments.text("tools").ifPresent(names -> sandbox.put("tools", List.of(names.split(",", -1))));
        putUnlessEmpty(upload, "sandbox", sandbox);
        upload.put("items", items(file));
        if (arguments.flag("allow-missing-held-out")) {
            upload.put("allow_missing_held_out", true);
        }
        JsonNode added = api.post("/tasks", upload, 0);
        return Map.of("id", added.path("id").asString(""));
    }

    private static List<JsonNode> items(Path file) {
        List<JsonNode> items = new ArrayList<>();
        int number = 0;
        for (String line : text(file).split("\n", -1)) {
            number++;
            if (line.isBlank()) {
                continue;
            }
            try {
                items.add(Json.mapper().readTree(line));
            } catch (JacksonException e) {
                throw CommandException.usage(file + ", line " + number + ": not valid JSON");
            }
        }
        if (items.isEmpty()) {
            throw CommandException.usage(file + " has no items");
        }
        return items;
    }

    private static String harness(Path file) {
        return text(file);
    }

    static String text(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (CharacterCodingException e) {
            throw CommandException.usage(file + " is not UTF-8 text");
        } catch (IOException e) {
            throw CommandException.usage(
                    file + " can't be read (" + e.getClass().getSimpleName() + ")");
        }
    }

    /** Writes the source of a harness to a file. */
    static void writeHarness(Api api, String hash, Path file) {
        try {
            Optional<Path> folder = Optional.ofNullable(file.toAbsolutePath().getParent());
            if (folder.isPresent()) {
                Files.createDirectories(folder.get());
            }
            Files.writeString(file, source(api, hash), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new CommandException(ExitCode.FAILED, file + " can't be written: " + e.getMessage());
        }
    }

    private static String source(Api api, String hash) {
        JsonNode harness = api.get("/harnesses/" + hash);
        JsonNode source = harness.path("source");
        if (!source.isString()) {
            throw new CommandException(ExitCode.FAILED, "the platform has no source of " + hash);
        }
        return source.stringValue();
    }
}
