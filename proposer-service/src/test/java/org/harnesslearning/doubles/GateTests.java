package org.harnesslearning.doubles;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.xml.XMLConstants;
import javax.xml.transform.stream.StreamSource;
import javax.xml.validation.SchemaFactory;
import org.apache.maven.plugin.surefire.log.api.NullConsoleLogger;
import org.apache.maven.plugins.surefire.report.ReportTestCase;
import org.apache.maven.plugins.surefire.report.ReportTestSuite;
import org.apache.maven.plugins.surefire.report.TestSuiteXmlParser;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

@RequiresPostgres
class GateTests {
    private static Platform platform;

    @BeforeAll
    static void start() {
        platform = new Platform();
    }

    @AfterAll
    static void stop() {
        platform.close();
    }

    private static JsonNode run(String path, Map<String, Object> request) {
        Api.Answer answer = platform.api.post(path, Platform.body(request), "Prefer", "wait=60");
        assertThat(answer.status()).as(answer.body()).isEqualTo(200);
        return answer.json();
    }

    private static JsonNode refused(String path, Map<String, Object> request, String pointer) {
        Api.Answer answer = platform.api.post(path, Platform.body(request));
        assertThat(answer.status()).as(answer.body()).isEqualTo(400);
        assertThat(answer.json()
                        .get("errors")
                        .valueStream()
                        .map(error -> error.get("pointer").asString()))
                .as(answer.body())
                .contains(pointer);
        return answer.json();
    }

    private static Map<String, Object> evaluation(String harness, Map<String, Object> fields) {
        Map<String, Object> request = new LinkedHashMap<>();
        request.put("task", platform.task(2, 4, 5));
        request.put("harness", Map.of("source", harness));
        request.putAll(fields);
        return request;
    }

    private static String level(double level) {
        return Platform.SEED.replace("level: 0.0", "level: " + level);
    }

    /** An own task whose first dev question must not flip; questions have ids and, in dev, groups. */
    private static String markedTask() {
        List<Object> items = new ArrayList<>();
        for (String split : List.of("feedback", "dev", "held_out")) {
            for (int i = 0; i < 4; i++) {
                Map<String, Object> item = new LinkedHashMap<>();
                item.put("id", split + "-" + i);
                item.put("question", "marked " + split + " " + i + "/4");
                item.put("answer", "a" + i);
                item.put("split", split);
                if (split.equals("dev")) {
                    item.put("metadata", Map.of("group", i < 2 ? "billing & <refunds>" : "shipping"));
                    item.put("regression", i == 0);
                }
                items.add(item);
            }
        }
        Api.Answer created = platform.api.post(
                "/tasks", Platform.body(Map.of("description", "Answer it.", "scorer", "exact", "items", items)));
        assertThat(created.status()).as(created.body()).isEqualTo(201);
        return created.json().get("id").asString();
    }

    @Test
    void a_gate_on_cost_is_refused_without_a_price_and_judged_with_one() {
        String unpriced = platform.model(Map.of());
        refused("/adapt", platform.request(unpriced, Map.of("gate", Map.of("max_cost", 1))), "/gate/max_cost");

        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("rounds", 1);
        fields.put("harness", Map.of("source", level(0.5)));
        fields.put("gate", Map.of("min_gain", -1, "max_cost", 0.000001));
        JsonNode dear = run("/adapt", platform.request("solver", fields));
        double tokens = 2 * dear.at("/usage/proposer/prompt_tokens").asLong()
                + 8 * dear.at("/usage/proposer/completion_tokens").asLong()
                + 2 * dear.at("/usage/solver/prompt_tokens").asLong()
                + 8 * dear.at("/usage/solver/completion_tokens").asLong();
        assertThat(tokens).isPositive();
        assertThat(dear.at("/usage/cost").asDouble()).isEqualTo(tokens / 1e6, within(1e-12));
        assertThat(dear.at("/result/gate").asString()).isEqualTo("failed");
        assertThat(dear.at("/result/gate_reasons").toString()).contains("more than max_cost");
    }

    @Test
    void recorded_replies_pass_no_gate() {
        String model =
                platform.model(ModelInfo.Kind.RECORDED, Map.of("1/0", Platform.edit("level: 0.0", "level: 1.0")));
        JsonNode run = run(
                "/adapt",
                platform.request(model, Map.of("rounds", 1, "candidates", 1, "gate", Map.of("min_gain", 0.1))));

        assertThat(run.at("/result/held_out/gain/mean").asDouble()).isEqualTo(1);
        assertThat(run.at("/result/gate").asString()).isEqualTo("failed");
        assertThat(run.at("/result/gate_reasons").toString())
                .contains("recorded: true")
                .doesNotContain("below");
    }

    @Test
    void a_gap_of_the_sandboxes_host_stands_in_every_report() throws Exception {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("rounds", 1);
        fields.put("candidates", 1);
        fields.put("harness", Map.of("source", level(0.5) + "# gap: SWAP_LIMIT\n"));
        String adaptation =
                run("/adapt", platform.request("solver", fields)).get("id").asString();
        String evaluation = run("/evaluations", evaluation(level(0.5) + "# gap: SWAP_LIMIT\n", Map.of()))
                .get("id")
                .asString();
        for (String path : List.of("/adaptations/" + adaptation, "/evaluations/" + evaluation)) {
            assertThat(platform.api
                            .get(path + "/report")
                            .json()
                            .get("sandbox_gaps")
                            .toString())
                    .isEqualTo("[\"SWAP_LIMIT\"]");
            assertThat(platform.api.get(path + "/report?format=markdown").body())
                    .contains("**Sandboxes without SWAP_LIMIT**");
            String junit = platform.api.get(path + "/report?format=junit").body();
            validate(junit);
            assertThat(junit).contains("<property name=\"sandbox_gaps\" value=\"SWAP_LIMIT\"/>");
        }
        String sound =
                run("/evaluations", evaluation(level(0.5), Map.of())).get("id").asString();
        assertThat(platform.api.get("/evaluations/" + sound + "/report").json().get("sandbox_gaps"))
                .isEmpty();
        assertThat(platform.api
                        .get("/evaluations/" + sound + "/report?format=markdown")
                        .body())
                .doesNotContain("Sandboxes without");
    }

    @Test
    void an_anchor_that_flips_to_wrong_fails_the_gate_and_is_listed() throws Exception {
        String model = platform.model(Map.of("1/0", Platform.edit("level: 0.3", "level: 1.0\n    # wrong: 0")));
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("task", Map.of("id", markedTask()));
        fields.put("harness", Map.of("source", level(0.3)));
        fields.put("rounds", 1);
        fields.put("candidates", 1);
        fields.put("gate", Map.of("min_gain", -1));
        fields.put("regression", List.of("held_out-3"));
        JsonNode run = run("/adapt", platform.request(model, fields));

        assertThat(run.at("/result/gate").asString()).isEqualTo("failed");
        assertThat(run.at("/result/regression").toString()).isEqualTo("{\"items\":2,\"flipped\":1,\"unmeasured\":0}");
        assertThat(run.at("/result/gate_reasons").toString())
                .contains("1 of 2 items of the regression set went from right to wrong");
        assertThat(run.at("/result/flips")).hasSize(2);
        JsonNode dev = run.at("/result/flips/0");
        assertThat(dev.get("split").asString()).isEqualTo("dev");
        assertThat(dev.get("id").asString()).isEqualTo("dev-0");
        assertThat(dev.get("regression").asBoolean()).isTrue();
        JsonNode heldOut = run.at("/result/flips/1");
        assertThat(heldOut.get("split").asString()).isEqualTo("held_out");
        assertThat(heldOut.has("id")).isFalse();
        assertThat(heldOut.get("regression").asBoolean()).isFalse();

        String path = "/adaptations/" + run.get("id").asString() + "/report?format=";
        assertThat(platform.api.get(path + "markdown").body())
                .contains("(dev-0) in dev: 1.000 to 0.000 **regression set**")
                .contains("| dev/billing & <refunds> | 2 | 1.000 | 0.500 | 1 | 1 |");
        String junit = platform.api.get(path + "junit").body();
        validate(junit);
        ReportTestSuite suite = parsed(junit);
        assertThat(suite.getNumberOfTests()).isEqualTo(6);
        assertThat(suite.getNumberOfFailures()).isEqualTo(2);
        assertThat(suite.getNumberOfErrors()).isZero();
        ReportTestCase group = suite.getTestCases().stream()
                .filter(test -> test.getName().equals("dev/billing & <refunds>"))
                .findFirst()
                .orElseThrow();
        assertThat(group.hasFailure()).isTrue();
        assertThat(group.getFailureDetail()).contains("dev-0").contains("sha256:");
        assertThat(suite.getTestCases())
                .extracting(ReportTestCase::getName)
                .containsExactly("run", "gate", "dev/billing & <refunds>", "dev/shipping", "held_out", "candidate 1/0");
    }

    @Test
    void an_anchor_must_be_an_item_that_is_measured_twice() {
        refused(
                "/adapt",
                platform.request(platform.model(Map.of()), Map.of("regression", List.of("nothing"))),
                "/regression/0");
        refused("/adapt", platform.request(platform.model(Map.of()), Map.of("regression", List.of(1))), "/regression");
        refused(
                "/evaluations",
                evaluation(level(1), Map.of("task", Map.of("id", markedTask()), "regression", List.of("dev-0"))),
                "/regression");
        refused(
                "/tasks",
                Map.of(
                        "description",
                        "d",
                        "scorer",
                        "exact",
                        "items",
                        List.of(Map.of("question", "q", "answer", "a", "split", "feedback", "regression", true))),
                "/items/0/regression");
    }

    @Test
    void an_evaluation_is_gated_by_its_score() {
        JsonNode passed =
                run("/evaluations", evaluation(level(0.5), Map.of("gate", Map.of("min_score", 0.5, "max_cost", 1))));
        assertThat(passed.at("/result/gate").asString()).isEqualTo("passed");
        assertThat(passed.at("/usage/cost").asDouble()).isPositive();
        JsonNode failed = run("/evaluations", evaluation(level(0.5), Map.of("gate", Map.of("min_score", 0.6))));
        assertThat(failed.at("/result/gate").asString()).isEqualTo("failed");
        assertThat(failed.at("/result/gate_reasons/0").asString()).contains("below min_score 0.6");
        refused("/evaluations", evaluation(level(1), Map.of("gate", Map.of())), "/gate/min_score");
        refused("/evaluations", evaluation(level(1), Map.of("gate", Map.of("min_gain", 0))), "/gate/min_gain");
    }

    @Test
    void an_evaluation_compares_two_harnesses_on_the_same_questions() throws Exception {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("task", Map.of("id", markedTask()));
        fields.put("baseline", Map.of("source", level(0.3)));
        fields.put("gate", Map.of("min_gain", 0.1));
        JsonNode better = run("/evaluations", evaluation(level(1), fields));
        assertThat(better.at("/result/baseline/score/mean").asDouble()).isEqualTo(0.5);
        assertThat(better.at("/result/gain/mean").asDouble()).isEqualTo(0.5);
        assertThat(better.at("/score/n").asInt()).isEqualTo(4);
        assertThat(better.at("/result/regression/flipped").asInt()).isZero();

        fields.put("gate", Map.of("min_score", 0.7));
        JsonNode flipped = run("/evaluations", evaluation(level(1) + "# wrong: 0\n", fields));
        assertThat(flipped.at("/score/mean").asDouble()).isEqualTo(0.75);
        assertThat(flipped.at("/result/gate").asString()).isEqualTo("failed");
        assertThat(flipped.at("/result/regression").toString())
                .isEqualTo("{\"items\":1,\"flipped\":1,\"unmeasured\":0}");

        String path = "/evaluations/" + flipped.get("id").asString() + "/report";
        String junit = platform.api.get(path + "?format=junit").body();
        validate(junit);
        assertThat(parsed(junit).getNumberOfFailures()).isEqualTo(2);
        assertThat(platform.api.get(path).json().at("/gate_reasons/0").asString())
                .contains("regression set");
        assertThat(platform.api.get(path + "?format=markdown").body()).contains("| baseline | 0.500");
    }

    private static void validate(String junit) throws Exception {
        SchemaFactory.newInstance(XMLConstants.W3C_XML_SCHEMA_NS_URI)
                .newSchema(Objects.requireNonNull(GateTests.class.getResource("/junit/surefire-test-report.xsd")))
                .newValidator()
                .validate(new StreamSource(new ByteArrayInputStream(junit.getBytes(StandardCharsets.UTF_8))));
    }

    private static ReportTestSuite parsed(String junit) throws Exception {
        List<ReportTestSuite> suites = new TestSuiteXmlParser(new NullConsoleLogger())
                .parse(new InputStreamReader(
                        new ByteArrayInputStream(junit.getBytes(StandardCharsets.UTF_8)), StandardCharsets.UTF_8));
        assertThat(suites).hasSize(1);
        return suites.getFirst();
    }
}
