package org.harnesslearning.doubles;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

@RequiresPostgres
class NameTests {
    private static Platform platform;

    @BeforeAll
    static void start() {
        platform = new Platform();
    }

    @AfterAll
    static void stop() {
        platform.close();
    }

    private static Api.Answer post(String path, Map<String, Object> body, String... headers) {
        return platform.api.post("/harnesses/names/" + path, Platform.body(body), headers);
    }

    private static Map<String, Object> source(String level) {
        return Map.of("harness", Map.of("source", Platform.SEED.replace("0.0", level)));
    }

    private static JsonNode adaptation(ModelInfo.Kind kind, Map<String, Object> fields) {
        String model = platform.model(kind, Map.of("1/0", Platform.edit("level: 0.0", "level: 1.0")));
        Map<String, Object> all = new LinkedHashMap<>(Map.of("rounds", 1, "candidates", 1));
        all.putAll(fields);
        return platform.api
                .post("/adapt", Platform.body(platform.request(model, all)), "Prefer", "wait=60")
                .json();
    }

    @Test
    void versions_are_promoted_and_rolled_back_and_an_agent_loads_what_is_live() {
        assertThat(post("support/versions", source("0.1")).status()).isEqualTo(201);
        assertThat(post("support/versions", source("0.1")).status()).isEqualTo(200);
        assertThat(platform.api.get("/harnesses/names/support/live").status()).isEqualTo(404);

        assertThat(post("support/promote", Map.of("version", 1))
                        .json()
                        .at("/live/version")
                        .asInt())
                .isEqualTo(1);
        assertThat(post("support/promote", source("0.2"))
                        .json()
                        .at("/live/version")
                        .asInt())
                .isEqualTo(2);
        assertThat(post("support/promote", source("0.3"))
                        .json()
                        .at("/live/version")
                        .asInt())
                .isEqualTo(3);
        String third = Hashes.harness(Platform.SEED.replace("0.0", "0.3"));
        Api.Answer live = platform.api.get("/harnesses/names/support/live", "Accept", "text/x-python");
        assertThat(live.body()).isEqualTo(Platform.SEED.replace("0.0", "0.3"));
        assertThat(live.header("ETag")).isEqualTo("\"" + third + "\"");
        assertThat(live.header("Cache-Control")).contains("private").contains("max-age=10");
        Api.Answer same = platform.api.get(
                "/harnesses/names/support/live", "Accept", "text/x-python", "If-None-Match", live.header("ETag"));
        assertThat(same.status()).isEqualTo(304);
        assertThat(same.body()).isEmpty();

        assertThat(post("support/rollback", Map.of("note", "too slow"))
                        .json()
                        .at("/live/version")
                        .asInt())
                .isEqualTo(2);
        assertThat(post("support/rollback", Map.of()).json().at("/live/version").asInt())
                .isEqualTo(1);
        Api.Answer end = post("support/rollback", Map.of());
        assertThat(end.status()).isEqualTo(409);
        assertThat(post("support/rollback", Map.of("version", 3))
                        .json()
                        .at("/live/version")
                        .asInt())
                .isEqualTo(3);
        JsonNode json = platform.api.get("/harnesses/names/support/live").json();
        assertThat(json.get("hash").asString()).isEqualTo(third);
        assertThat(json.get("version").asInt()).isEqualTo(3);

        JsonNode history =
                platform.api.get("/harnesses/names/support/history").json().get("data");
        assertThat(history.valueStream()
                        .map(change -> change.get("action").asString() + " "
                                + change.get("before").asString("-") + ">"
                                + change.get("version").asInt())
                        .toList())
                .containsExactly(
                        "rolled_back 1>3",
                        "rolled_back 2>1",
                        "rolled_back 3>2",
                        "promoted 2>3",
                        "promoted 1>2",
                        "promoted ->1");
        assertThat(history.at("/2/note").asString()).isEqualTo("too slow");
        assertThat(platform.api.get("/harnesses/names").body()).contains("\"support\"");
    }

    @Test
    void a_request_may_start_from_what_is_live() {
        post("starting-point/promote", source("0.5"));
        Map<String, Object> evaluation = new LinkedHashMap<>();
        evaluation.put("task", platform.task(2, 4, 5));
        evaluation.put("harness", Map.of("name", "starting-point"));
        JsonNode run =
                platform.api.post("/evaluations", Platform.body(evaluation)).json();
        assertThat(run.at("/score/mean").asDouble()).isEqualTo(0.5);
        assertThat(run.get("harness").asString()).isEqualTo(Hashes.harness(Platform.SEED.replace("0.0", "0.5")));

        evaluation.put("harness", Map.of("name", "nothing-here"));
        Api.Answer unknown = platform.api.post("/evaluations", Platform.body(evaluation));
        assertThat(unknown.status()).isEqualTo(400);
        assertThat(unknown.json().at("/errors/0/pointer").asString()).isEqualTo("/harness/name");
    }

    @Test
    void what_an_adaptation_found_is_promoted_unless_its_gate_failed_or_it_was_recorded() {
        JsonNode passed = adaptation(ModelInfo.Kind.LOCAL, Map.of("gate", Map.of("min_gain", 0.5)));
        JsonNode failed = adaptation(ModelInfo.Kind.LOCAL, Map.of("gate", Map.of("min_gain", 1, "max_cost", 0)));
        JsonNode strict = adaptation(
                ModelInfo.Kind.LOCAL,
                Map.of(
                        "harness",
                        Map.of("source", Platform.SEED.replace("0.0", "0.9")),
                        "gate",
                        Map.of("min_gain", 1)));
        JsonNode recorded = adaptation(ModelInfo.Kind.RECORDED, Map.of());

        JsonNode live = post(
                        "won/promote", Map.of("adaptation", passed.get("id").asString()))
                .json();
        assertThat(live.at("/live/harness").asString())
                .isEqualTo(passed.at("/result/harness").asString());
        assertThat(live.at("/live/adaptation").asString())
                .isEqualTo(passed.get("id").asString());
        // A gate on cost without a price is refused before it runs.
        assertThat(failed.get("status").asInt()).isEqualTo(400);
        for (JsonNode run : List.of(strict, recorded)) {
            Map<String, Object> body = Map.of("adaptation", run.get("id").asString());
            Api.Answer refused = post("lost/promote", body);
            assertThat(refused.status()).as(refused.body()).isEqualTo(409);
            assertThat(refused.json().get("code").asString()).isEqualTo("INVALID_STATE");
            Map<String, Object> forced = Map.of("adaptation", run.get("id").asString(), "force", true);
            assertThat(post("lost/promote", forced).status()).isEqualTo(403);
            assertThat(post("lost/promote", forced, "X-Key-Scope", "admin").status())
                    .isEqualTo(200);
        }
        assertThat(platform.api
                        .get("/harnesses/names/lost/history")
                        .json()
                        .at("/data/0/forced")
                        .asBoolean())
                .isTrue();
    }

    @Test
    void wrong_requests_are_refused_with_what_is_wrong() {
        assertThat(post("Upper/versions", source("0.1")).status()).isEqualTo(400);
        assertThat(post("none/versions", Map.of()).status()).isEqualTo(400);
        assertThat(post("none/versions", Map.of("version", 1))
                        .json()
                        .get("code")
                        .asString())
                .isEqualTo("UNKNOWN_FIELD");
        assertThat(post("none/promote", Map.of("version", 1)).status()).isEqualTo(404);
        assertThat(post("none/promote", Map.of("adaptation", "adp_unknown"))
                        .json()
                        .at("/errors/0/pointer")
                        .asString())
                .isEqualTo("/adaptation");
        assertThat(post("none/promote", Map.of("harness", Map.of("source", "x = 1\n")))
                        .json()
                        .get("code")
                        .asString())
                .isEqualTo("INVALID_HARNESS");
        assertThat(post("none/rollback", Map.of()).status()).isEqualTo(404);
        assertThat(platform.api.get("/harnesses/names/none").status()).isEqualTo(404);
        assertThat(platform.api
                        .send("DELETE", "/harnesses/names/none", new byte[0])
                        .status())
                .isEqualTo(404);
    }
}
