package org.harnesslearning.standalone.cli;

import java.io.PrintStream;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.databind.JsonNode;

/** {@code harness runs}: what was ordered, and its control. */
final class RunsCommand {
    static final String HELP = """
            Usage: ./harness runs [list] [options]
                   ./harness runs cancel ID…
                   ./harness runs pause ID…
                   ./harness runs resume ID… | all

            Runs are adaptations (adp_…), revisions (rev_…), evaluations (evl_…) and training runs (trn_…). `resume all` lets
            all paused ones but training runs go on, after an outage say; those that somebody paused on purpose too.

              --kind KIND           adaptations, revisions, evaluations or training-runs; default: all
              --state STATE         queued, running, paused, succeeded, failed or cancelled
              --task NAME           family or task id; of training runs none
              --limit N             how many of each kind, newest first (20)
              --json                one JSON object a line
              --url URL --key KEY   another platform; default: HARNESS_URL and HARNESS_KEY, else the one of ./harness up

            Exit codes: 0 done; 2 wrong options or request; 3 one of the runs could not be told; 4 the platform can't be reached.
            """;

    /** Path by the prefix of ids. */
    private static final Map<String, String> PATHS = new LinkedHashMap<>();

    static {
        PATHS.put("adp", "adaptations");
        PATHS.put("rev", "revisions");
        PATHS.put("evl", "evaluations");
        PATHS.put("trn", "training-runs");
    }

    private static final String TRAINING = "training-runs";
    private static final int PAGE = 100;

    private RunsCommand() {}

    static ExitCode run(List<String> given, Surroundings surroundings) {
        int words = Arguments.words(given);
        String action = words == 0 ? "list" : given.getFirst();
        List<String> ids = words == 0 ? List.of() : given.subList(1, words);
        List<String> options = given.subList(words, given.size());
        PrintStream out = surroundings.out();
        switch (action) {
            case "list" -> {
                if (!ids.isEmpty()) {
                    throw CommandException.usage("'runs list' takes options only; see --help");
                }
                Set<String> named = new HashSet<>(Surroundings.OPTIONS);
                named.addAll(Set.of("kind", "state", "task", "limit"));
                Arguments arguments = Arguments.parse(options, named, Set.of("json"));
                try (Api api = surroundings.connect(arguments)) {
                    list(api, arguments, out);
                }
                return ExitCode.DONE;
            }
            case "cancel", "pause", "resume" -> {
                boolean all = ids.equals(List.of("all")) && action.equals("resume");
                if (ids.isEmpty()) {
                    throw CommandException.usage("'runs " + action + "' needs the id of a run; see --help");
                }
                if (!all) {
                    ids.forEach(RunsCommand::path);
                }
                Arguments arguments = Arguments.parse(options, Surroundings.OPTIONS, Set.of("json"));
                try (Api api = surroundings.connect(arguments)) {
                    return control(api, action, all ? paused(api) : ids, arguments, out);
                }
            }
            default -> throw CommandException.usage("unknown command 'runs " + action + "'; see --help");
        }
    }

    private static void list(Api api, Arguments arguments, PrintStream out) {
        String kind = arguments.text("kind").orElse(null);
        if (kind != null && !PATHS.containsValue(kind)) {
            throw CommandException.usage("--kind is none of " + String.join(", ", PATHS.values()));
        }
        String task = arguments.text("task").orElse(null);
        if (task != null && TRAINING.equals(kind)) {
            throw CommandException.usage("training runs have no --task");
        }
        StringBuilder query = new StringBuilder("?limit=")
                .append(arguments.integer("limit", 1).orElse(20));
        arguments.text("state").ifPresent(state -> query.append("&state=").append(encoded(state)));
        for (String path : PATHS.values()) {
            if ((kind != null && !kind.equals(path)) || (task != null && path.equals(TRAINING))) {
                continue;
            }
            String whole = "/" + path + query + (task == null ? "" : "&task=" + encoded(task));
            for (JsonNode run : api.get(whole).path("data")) {
                if (arguments.flag("json")) {
                    out.println(Json.write(run));
                } else {
                    out.println(line(run));
                }
            }
        }
    }

    private static String line(JsonNode run) {
        JsonNode settings = run.path("settings");
        JsonNode task = settings.path("task");
        String about = task.at("/reasoning_gym/family")
                .asString(task.path("id").asString(run.path("kind").asString("")));
        JsonNode progress = run.path("progress");
        String done = progress.path("planned").asLong(0) > 0
                ? progress.path("done").asLong(0) + "/"
                        + progress.path("planned").asLong(0)
                : "";
        return String.format(
                        Locale.ROOT,
                        "%s  %-9s  %-20s  %-24s  %-11s  %s",
                        run.path("id").asString(""),
                        run.path("state").asString(""),
                        run.path("created_at").asString("").replaceAll("\\..*Z$", "Z"),
                        about,
                        done,
                        run.path("message").asString(""))
                .stripTrailing();
    }

    private static ExitCode control(Api api, String action, List<String> ids, Arguments arguments, PrintStream out) {
        ExitCode code = ExitCode.DONE;
        for (String id : ids) {
            try {
                JsonNode run = api.post("/" + path(id) + "/" + id + "/" + action, Map.of(), 0);
                out.println(
                        arguments.flag("json")
                                ? Json.write(run)
                                : id + " " + run.path("state").asString(""));
            } catch (CommandException e) {
                if (e.code() == ExitCode.UNREACHABLE) {
                    throw e;
                }
                // The others are told all the same.
                out.println(id + ": " + e.getMessage());
                code = ExitCode.FAILED;
            }
        }
        if (ids.isEmpty()) {
            out.println("No run is paused.");
        }
        return code;
    }

    /** Ids of all paused runs but training runs; all are read before the first is told, which changes the lists. */
    private static List<String> paused(Api api) {
        List<String> ids = new ArrayList<>();
        for (String path : PATHS.values()) {
            if (path.equals(TRAINING)) {
                continue;
            }
            String cursor = "";
            do {
                JsonNode page = api.get("/" + path + "?state=paused&limit=" + PAGE
                        + (cursor.isEmpty() ? "" : "&cursor=" + encoded(cursor)));
                page.path("data").forEach(run -> ids.add(run.path("id").asString("")));
                cursor = page.path("next_cursor").asString("");
            } while (!cursor.isEmpty());
        }
        return ids;
    }

    private static String path(String id) {
        int end = id.indexOf('_');
        String path = end < 0 || !id.matches("[A-Za-z0-9_]{1,64}") ? null : PATHS.get(id.substring(0, end));
        if (path == null) {
            throw CommandException.usage("'" + id + "' is no id of a run");
        }
        return path;
    }

    private static String encoded(String value) {
        return URLEncoder.encode(value, StandardCharsets.UTF_8);
    }
}
