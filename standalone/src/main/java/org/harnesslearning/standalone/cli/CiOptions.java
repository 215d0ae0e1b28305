package org.harnesslearning.standalone.cli;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import tools.jackson.databind.JsonNode;

/** What CI asks of {@code adapt} and {@code evaluate}: a gate, a regression set, reports in files, a time limit. */
final class CiOptions {
    /** Options with a value. */
    static final Set<String> OPTIONS = Set.of("gate", "regression", "report", "timeout", "labels");

    /** Options without one. */
    static final Set<String> FLAGS = Set.of("wait", "no-wait");

    static final String HELP = """
              --regression ITEMS    items that must not go from right to wrong: hashes or ids with commas between, or @FILE with
                                    one a line; items that the task marks belong to the set anyway
              --report FORMAT=FILE  writes the report; FORMAT is junit, markdown or json; more with commas between
              --wait                wait for the end (default); --no-wait starts the run and prints its id
              --timeout SECONDS     longest wait; the run goes on at the platform afterwards
              --labels NAME=VALUE   labels of the run; more with commas between
            """;

    private static final Map<String, String> FORMATS =
            Map.of("junit", "application/xml", "markdown", "text/markdown", "json", "application/json");

    private CiOptions() {}

    /** The gate in the request's form; empty where none was given. */
    static Map<String, Object> gate(Arguments arguments, Set<String> known) {
        Map<String, Object> gate = new LinkedHashMap<>();
        arguments
                .text("gate")
                .ifPresent(text -> pairs("gate", text).forEach((name, value) -> {
                    if (!known.contains(name)) {
                        throw CommandException.usage("option --gate has no '" + name + "'; known are "
                                + String.join(", ", known.stream().sorted().toList()));
                    }
                    gate.put(name, number(value));
                }));
        return gate;
    }

    /** Puts regression set and labels into a request's body. */
    static void put(Arguments arguments, Map<String, Object> body) {
        arguments.text("regression").ifPresent(text -> body.put("regression", regression(text)));
        arguments.text("labels").ifPresent(text -> body.put("labels", pairs("labels", text)));
        reports(arguments);
        timeout(arguments);
        if (arguments.flag("wait") && arguments.flag("no-wait")) {
            throw CommandException.usage("--wait and --no-wait exclude each other");
        }
        if (arguments.flag("no-wait") && arguments.text("report").isPresent()) {
            throw CommandException.usage("--report needs the end of the run, so not --no-wait");
        }
    }

    /** Longest wait in seconds, if there is one. */
    static Optional<Integer> timeout(Arguments arguments) {
        return arguments.integer("timeout", 1);
    }

    /** Writes the reports of a finished run. */
    static void write(Arguments arguments, Api api, String path) {
        reports(arguments).forEach((format, file) -> {
            String text = api.text(path + "/report?format=" + format, FORMATS.getOrDefault(format, "*/*"));
            try {
                Path folder = file.toAbsolutePath().getParent();
                if (folder != null) {
                    Files.createDirectories(folder);
                }
                Files.writeString(file, text, StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new CommandException(ExitCode.FAILED, file + " can't be written: " + e.getMessage());
            }
        });
    }

    /** How a finished run ends the command. */
    static ExitCode exitCode(JsonNode run) {
        if (!run.path("state").asString("").equals("succeeded")) {
            return ExitCode.FAILED;
        }
        return run.path("result").path("gate").asString("none").equals("failed") ? ExitCode.GATE_FAILED : ExitCode.DONE;
    }

    /** The gate's verdict with its reasons, for a person; empty where there was no gate. */
    static List<String> verdict(JsonNode run) {
        JsonNode result = run.path("result");
        String gate = result.path("gate").asString("none");
        List<String> lines = new ArrayList<>();
        if (!gate.equals("none")) {
            lines.add("Gate: " + gate);
            result.path("gate_reasons").forEach(reason -> lines.add("  " + reason.asString("")));
        }
        result.path("flips")
                .forEach(flip -> lines.add("  right to wrong in "
                        + flip.path("split").asString("") + ": "
                        + flip.path("item").asString("")
                        + (flip.path("id").isString() ? " (" + flip.path("id").asString("") + ")" : "")
                        + (flip.path("regression").asBoolean(false) ? ", of the regression set" : "")));
        return lines;
    }

    private static Map<String, Path> reports(Arguments arguments) {
        Map<String, Path> reports = new LinkedHashMap<>();
        arguments
                .text("report")
                .ifPresent(text -> pairs("report", text).forEach((format, file) -> {
                    if (!FORMATS.containsKey(format)) {
                        throw CommandException.usage(
                                "option --report has no format '" + format + "'; known are json, junit, markdown");
                    }
                    reports.put(format, Path.of(file));
                }));
        return reports;
    }

    private static List<String> regression(String text) {
        if (!text.startsWith("@")) {
            return List.of(text.split(","));
        }
        try {
            return Files.readAllLines(Path.of(text.substring(1)), StandardCharsets.UTF_8).stream()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty())
                    .toList();
        } catch (IOException e) {
            throw CommandException.usage(
                    text.substring(1) + " can't be read (" + e.getClass().getSimpleName() + ")");
        }
    }

    private static Map<String, String> pairs(String option, String text) {
        Map<String, String> pairs = new LinkedHashMap<>();
        for (String pair : text.split(",")) {
            int equals = pair.indexOf('=');
            if (equals < 1
                    || equals == pair.length() - 1
                    || pairs.put(pair.substring(0, equals), pair.substring(equals + 1)) != null) {
                throw CommandException.usage(
                        "option --" + option + " needs NAME=VALUE, each name once, not '" + text + "'");
            }
        }
        return pairs;
    }

    private static double number(String text) {
        try {
            double value = Double.parseDouble(text);
            if (Double.isFinite(value)) {
                return value;
            }
        } catch (NumberFormatException e) {
            // Said below.
        }
        throw CommandException.usage("option --gate needs numbers, not '" + text + "'");
    }
}
