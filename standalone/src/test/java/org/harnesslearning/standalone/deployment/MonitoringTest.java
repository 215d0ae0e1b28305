package org.harnesslearning.standalone.deployment;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.CheckTools;
import org.harnesslearning.testing.RequiresTools;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Prometheus' own tool on the rules and queries; that their metrics exist is seen in the test of the running platform. */
@RequiresTools
class MonitoringTest {
    private static final Path PROMETHEUS = SharedData.root().resolve("observability/prometheus");

    @ParameterizedTest
    @ValueSource(strings = {"prometheus.yml", "standalone.yml"})
    void prometheus_takes_the_configuration_with_its_rules(String file) {
        CheckTools.Result result = CheckTools.run("promtool", PROMETHEUS, "check", "config", file);

        assertThat(result.exitCode()).as(result.errors() + result.output()).isZero();
        assertThat(result.output()).contains("1 rule files found");
    }

    @Test
    void every_alert_fires_when_it_should() {
        CheckTools.Result result = CheckTools.run("promtool", PROMETHEUS, "test", "rules", "alerts_test.yml");

        assertThat(result.exitCode()).as(result.errors() + result.output()).isZero();
        Set<String> tested = new HashSet<>();
        JsonNode tests = Manifests.parse(Manifests.read(PROMETHEUS.resolve("alerts_test.yml")))
                .getFirst()
                .get("tests");
        for (JsonNode test : Manifests.list(tests)) {
            for (JsonNode expectation : Manifests.list(test.get("alert_rule_test"))) {
                if (!expectation.get("exp_alerts").isEmpty()) {
                    tested.add(expectation.get("alertname").asString());
                }
            }
        }
        assertThat(tested).isEqualTo(Queries.alerts().keySet());
    }

    @Test
    void every_alert_says_what_happened_and_has_a_runbook() {
        String runbooks = Manifests.read(SharedData.root().resolve("docs/runbooks.md"));

        Queries.alerts().forEach((name, rule) -> {
            assertThat(rule.at("/annotations/summary").asString()).as(name).isNotBlank();
            assertThat(rule.at("/annotations/runbook").asString())
                    .isEqualTo("docs/runbooks.md#" + name.toLowerCase(Locale.ROOT));
            assertThat(runbooks).contains("\n## " + name + "\n");
            assertThat(rule.at("/labels/severity").asString()).isIn("critical", "warning", "info");
        });
    }

    @Test
    void every_query_of_a_dashboard_parses(@TempDir Path folder) throws IOException {
        Map<String, String> queries = Queries.dashboards();
        List<Map<String, String>> rules = queries.values().stream()
                .map(query -> Map.of("record", "dashboard:query", "expr", query))
                .toList();

        assertThat(queries).hasSizeGreaterThan(70);
        assertThat(check(folder, rules).exitCode())
                .as(() -> each(folder, queries))
                .isZero();
        assertThat(check(folder, List.of(Map.of("record", "a:b", "expr", "sum(rate(x[5m])")))
                        .exitCode())
                .as("a query that does not parse is found")
                .isNotZero();
    }

    private static CheckTools.Result check(Path folder, List<Map<String, String>> rules) {
        Map<String, Object> group = new LinkedHashMap<>();
        group.put("name", "dashboards");
        group.put("rules", rules);
        try {
            // JSON is YAML. Equal rules would be refused, so each has a label of its own.
            Path file = Files.writeString(
                    folder.resolve("queries.yml"), Json.write(Map.of("groups", List.of(numbered(group, rules)))));
            return CheckTools.run("promtool", folder, "check", "rules", "--lint=none", file.toString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Map<String, Object> numbered(Map<String, Object> group, List<Map<String, String>> rules) {
        List<Map<String, Object>> own = new ArrayList<>();
        for (int i = 0; i < rules.size(); i++) {
            Map<String, Object> rule = new LinkedHashMap<>(rules.get(i));
            rule.put("labels", Map.of("query", Integer.toString(i)));
            own.add(rule);
        }
        Map<String, Object> copy = new LinkedHashMap<>(group);
        copy.put("rules", own);
        return copy;
    }

    /** Which query it is that does not parse. */
    private static String each(Path folder, Map<String, String> queries) {
        StringBuilder faults = new StringBuilder();
        queries.forEach((place, query) -> {
            CheckTools.Result result = check(folder, List.of(Map.of("record", "dashboard:query", "expr", query)));
            if (result.exitCode() != 0) {
                faults.append(place).append(": ").append(query).append('\n').append(result.errors());
            }
        });
        return faults.toString();
    }

    @Test
    void dashboards_use_the_provisioned_data_source_and_do_not_overlap() {
        JsonNode source = Manifests.parse(Manifests.read(
                        SharedData.root().resolve("observability/grafana/provisioning/datasources/prometheus.yml")))
                .getFirst()
                .at("/datasources/0");
        Set<String> uids = new HashSet<>();
        for (Path file : Queries.dashboardFiles()) {
            JsonNode dashboard = Json.mapper().readTree(Manifests.read(file));
            assertThat(uids.add(dashboard.get("uid").asString()))
                    .as(file.toString())
                    .isTrue();
            Set<String> cells = new HashSet<>();
            for (JsonNode panel : Manifests.list(dashboard.get("panels"))) {
                JsonNode place = panel.get("gridPos");
                assertThat(place.get("x").asInt() + place.get("w").asInt()).isLessThanOrEqualTo(24);
                for (int x = 0; x < place.get("w").asInt(); x++) {
                    for (int y = 0; y < place.get("h").asInt(); y++) {
                        String cell = (place.get("x").asInt() + x) + "/"
                                + (place.get("y").asInt() + y);
                        assertThat(cells.add(cell))
                                .as(file + " " + panel.get("title"))
                                .isTrue();
                    }
                }
                if (!panel.get("type").asString().equals("row")) {
                    assertThat(panel.at("/datasource/uid")).isEqualTo(source.get("uid"));
                    assertThat(panel.get("targets"))
                            .as(file + " " + panel.get("title"))
                            .isNotEmpty();
                }
            }
        }
    }

    @Test
    void names_of_metrics_are_found_in_queries() {
        assertThat(Queries.metrics(
                        "sum by (le, job) (rate(a_bucket{x=~\"b|c\", y!=\"}\"}[5m])) / on (d) group_left (e) f:g > 0.5"
                                + " and absent(h{i=\"j\"}) or vector(0) unless k offset 5m"))
                .containsExactly("a_bucket", "f:g", "h", "k");
    }
}
