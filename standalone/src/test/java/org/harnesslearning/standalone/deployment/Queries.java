package org.harnesslearning.standalone.deployment;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.SharedData;
import tools.jackson.databind.JsonNode;

/** The queries of dashboards and alerts. */
public final class Queries {
    private static final Path FOLDER = SharedData.root().resolve("observability");

    private static final Pattern STRINGS = Pattern.compile("\"(?:[^\"\\\\]|\\\\.)*\"");

    /** Label matchers, groupings and ranges hold names that are no metrics. */
    private static final Pattern NO_METRICS = Pattern.compile(
            "\\{[^}]*\\}|\\[[^\\]]*\\]|\\b(?:by|without|on|ignoring|group_left|group_right)\\s*\\([^)]*\\)");

    private static final Pattern NAME =
            Pattern.compile("(?<![a-zA-Z0-9_:.])[a-zA-Z_:][a-zA-Z0-9_:]*(?!\\s*\\(|[a-zA-Z0-9_:])");
    private static final Set<String> WORDS = Set.of("and", "or", "unless", "bool", "offset", "inf", "nan");

    private Queries() {}

    /** Queries of all dashboards by dashboard, panel and letter; Grafana's variables are filled in. */
    static Map<String, String> dashboards() {
        Map<String, String> queries = new LinkedHashMap<>();
        for (Path file : dashboardFiles()) {
            for (JsonNode panel :
                    Manifests.list(Json.mapper().readTree(Manifests.read(file)).get("panels"))) {
                for (JsonNode target : Manifests.list(panel.path("targets"))) {
                    queries.put(
                            file.getFileName() + " / " + panel.path("title").asString() + " / "
                                    + target.path("refId").asString(),
                            target.path("expr").asString().replace("$__rate_interval", "5m"));
                }
            }
        }
        return queries;
    }

    static List<Path> dashboardFiles() {
        try (Stream<Path> files = Files.list(FOLDER.resolve("grafana/dashboards"))) {
            return files.sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Rules by alert. */
    static Map<String, JsonNode> alerts() {
        Map<String, JsonNode> alerts = new LinkedHashMap<>();
        JsonNode groups = Manifests.parse(Manifests.read(FOLDER.resolve("prometheus/alerts.yml")))
                .getFirst()
                .get("groups");
        for (JsonNode group : Manifests.list(groups)) {
            for (JsonNode rule : Manifests.list(group.get("rules"))) {
                alerts.put(rule.get("alert").asString(), rule);
            }
        }
        return alerts;
    }

    /** Names of the metrics that dashboards and alerts ask for, each with the first place that does. */
    public static Map<String, String> metrics() {
        Map<String, String> places = new LinkedHashMap<>();
        dashboards().forEach((place, query) -> metrics(query).forEach(name -> places.putIfAbsent(name, place)));
        alerts().forEach((alert, rule) ->
                metrics(rule.get("expr").asString()).forEach(name -> places.putIfAbsent(name, "alert " + alert)));
        return places;
    }

    /** Names of the metrics in a query that is known to parse. */
    static Set<String> metrics(String query) {
        Set<String> names = new TreeSet<>();
        NAME.matcher(NO_METRICS.matcher(STRINGS.matcher(query).replaceAll("")).replaceAll(" "))
                .results()
                .map(MatchResult::group)
                .filter(name -> !WORDS.contains(name.toLowerCase(Locale.ROOT)))
                .forEach(names::add);
        return names;
    }
}
