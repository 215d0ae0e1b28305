package org.harnesslearning.standalone.cli;

import java.io.PrintStream;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.databind.JsonNode;

/** {@code harness models}: what is served, and which version of an adapter. */
final class ModelsCommand {
    static final String HELP = """
            Usage: ./harness models list
                   ./harness models versions NAME
                   ./harness models promote NAME sha256:… [--force] [--reason TEXT] [--wait S]
                   ./harness models rollback NAME [--reason TEXT]
                   ./harness models import ADAPTER --base MODEL

            NAME of `promote` is the name that the version is served under. Without --force it is promoted only if it beats
            what the name serves, on families kept out of training; --force needs a key of scope admin.
            ADAPTER is a zip, or a folder, of adapter_config.json and adapter_model.safetensors as a platform gives them; what
            was imported runs as MODEL@sha256:… (needs a key of scope admin, and a platform that takes adapters).

              --wait S              how long to wait for the comparison (600)
              --json                print the answer as it comes
              --url URL --key KEY   another platform; default: HARNESS_URL and HARNESS_KEY, else the one of ./harness up

            Exit codes: 0 done; 1 not promoted; 2 wrong options or request; 3 failed; 4 the platform can't be reached.
            """;

    private ModelsCommand() {}

    static ExitCode run(List<String> given, Surroundings surroundings) {
        int words = Arguments.words(given);
        List<String> verb = given.subList(0, words);
        Set<String> named = new java.util.HashSet<>(Surroundings.OPTIONS);
        named.addAll(Set.of("reason", "wait", "base"));
        Arguments arguments = Arguments.parse(given.subList(words, given.size()), named, Set.of("force", "json"));
        String action = verb.isEmpty() ? "list" : verb.getFirst();
        int expected = switch (action) {
            case "list" -> 1;
            case "versions", "rollback", "import" -> 2;
            case "promote" -> 3;
            default -> throw CommandException.usage("unknown command 'models " + action + "'; see --help");
        };
        if (!verb.isEmpty() && verb.size() != expected) {
            throw CommandException.usage("'models " + action + "' is incomplete or has a word too many; see --help");
        }
        PrintStream out = surroundings.out();
        try (Api api = surroundings.connect(arguments)) {
            return switch (action) {
                case "list" -> list(api, arguments, out);
                case "versions" -> versions(api, verb.get(1), arguments, out);
                case "promote" -> promote(api, verb.get(1), verb.get(2), arguments, out);
                case "import" -> bring(api, AdapterZip.of(Path.of(verb.get(1))), arguments, out);
                default -> rollback(api, verb.get(1), arguments, out);
            };
        }
    }

    private static ExitCode list(Api api, Arguments arguments, PrintStream out) {
        JsonNode answer = api.get("/models");
        if (arguments.flag("json")) {
            out.println(Json.write(answer));
            return ExitCode.DONE;
        }
        for (JsonNode model : answer.path("data")) {
            out.printf(
                    Locale.ROOT,
                    "%-40s %-10s %s%n",
                    model.path("id").asString(""),
                    model.path("kind").asString(model.path("parent").asString("")),
                    model.path("version").asString(""));
        }
        return ExitCode.DONE;
    }

    private static ExitCode versions(Api api, String name, Arguments arguments, PrintStream out) {
        JsonNode answer = api.get("/models/" + name + "/versions");
        if (arguments.flag("json")) {
            out.println(Json.write(answer));
            return ExitCode.DONE;
        }
        String serving = answer.path("serving").asString("");
        out.println(name + ", base " + answer.path("base").asString("") + ", serves "
                + (serving.isEmpty() ? "the base" : serving));
        for (JsonNode version : answer.path("data")) {
            out.printf(
                    Locale.ROOT,
                    "%s %s  %-9s step %-6d %s%n",
                    version.path("id").asString("").equals(serving) ? "*" : " ",
                    version.path("id").asString(""),
                    version.path("kind").asString(""),
                    version.path("step").asLong(0),
                    version.path("run").asString(""));
        }
        return ExitCode.DONE;
    }

    private static ExitCode promote(Api api, String name, String version, Arguments arguments, PrintStream out) {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("version", version);
        if (arguments.flag("force")) {
            body.put("force", true);
        }
        arguments.text("reason").ifPresent(reason -> body.put("reason", reason));
        JsonNode answer;
        try {
            answer = api.post(
                    "/models/" + name + "/promote",
                    body,
                    arguments.integer("wait", 0).orElse(600));
        } catch (CommandException e) {
            if (e.getMessage() != null && e.getMessage().startsWith("PROMOTION_REFUSED")) {
                out.println("NOT PROMOTED: " + e.getMessage());
                return ExitCode.GATE_FAILED;
            }
            throw e;
        }
        if (arguments.flag("json")) {
            out.println(Json.write(answer));
        } else if (answer.path("state").asString("promoted").equals("promoted")) {
            out.println(name + " serves " + version + ".");
        } else {
            out.println("Still comparing; see " + api.base()
                    + answer.path("links").path("self").asString(""));
        }
        return ExitCode.DONE;
    }

    private static ExitCode bring(Api api, AdapterZip adapter, Arguments arguments, PrintStream out) {
        String base = arguments.required("base");
        JsonNode answer = adapter.bring(api, base);
        if (arguments.flag("json")) {
            out.println(Json.write(answer));
        } else {
            out.println("Imported " + adapter.under(base) + ".");
        }
        return ExitCode.DONE;
    }

    private static ExitCode rollback(Api api, String name, Arguments arguments, PrintStream out) {
        Map<String, Object> body = new LinkedHashMap<>();
        arguments.text("reason").ifPresent(reason -> body.put("reason", reason));
        JsonNode answer = api.post("/models/" + name + "/rollback", body, 0);
        if (arguments.flag("json")) {
            out.println(Json.write(answer));
        } else {
            String serving = answer.path("serving").asString("");
            out.println(name + " serves " + (serving.isEmpty() ? "its base model" : serving) + " again.");
        }
        return ExitCode.DONE;
    }
}
