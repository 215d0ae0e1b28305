package org.harnesslearning.doubles;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** A name of the model registry as proposer, promoted to another version while a run goes on. */
@RequiresPostgres
class PromotedModelTests {
    private static final String FIRST = "sha256:" + "1".repeat(64);
    private static final String SECOND = "sha256:" + "2".repeat(64);

    private static Platform platform;

    @BeforeAll
    static void start() {
        platform = new Platform();
        platform.model.add(
                "coach@" + FIRST,
                ModelInfo.Kind.LOCAL,
                Map.of(
                        "1/0",
                        Platform.edit("level: 0.0", "level: 0.5"),
                        "2/0",
                        Platform.edit("level: 0.5", "level: 1.0")));
        platform.model.add(
                "coach@" + SECOND, ModelInfo.Kind.LOCAL, Map.of("1/0", Platform.edit("level: 0.0", "level: 0.5")));
        platform.model.serve("coach", FIRST);
    }

    @AfterAll
    static void stop() {
        platform.close();
    }

    private static List<String> askedSince(int before) {
        return platform.model.requests.stream()
                .skip(before)
                .map(ChatRequest::model)
                .distinct()
                .toList();
    }

    @Test
    void a_running_adaptation_keeps_its_version_and_the_next_run_has_the_new_one_without_a_restart() throws Exception {
        int before = platform.model.requests.size();
        platform.model.hold("2/0");
        String id = platform.api
                .post("/adapt", Platform.body(platform.request("coach", Map.of("candidates", 1))))
                .json()
                .get("id")
                .asString();
        platform.model.awaitHeld();
        platform.model.serve("coach", SECOND);
        platform.model.release();
        JsonNode run = platform.api.await(id, now -> now.get("state").asString().equals("succeeded"));

        assertThat(run.at("/settings/proposer/model").asString()).isEqualTo("coach@" + FIRST);
        assertThat(askedSince(before)).containsExactly("coach@" + FIRST);
        assertThat(run.at("/rounds").size()).isEqualTo(2);

        int then = platform.model.requests.size();
        JsonNode next = platform.api
                .post(
                        "/revise",
                        Platform.body(Map.of(
                                "task", platform.task(2, 3, 0),
                                "harness", Map.of("source", Platform.SEED),
                                "candidates", 1,
                                "proposer", Map.of("model", "coach", "demonstrations", "none"))),
                        "Prefer",
                        "wait=60")
                .json();
        assertThat(next.at("/settings/proposer/model").asString())
                .as(next.toString())
                .isEqualTo("coach@" + SECOND);
        assertThat(askedSince(then)).containsExactly("coach@" + SECOND);

        JsonNode pinned = platform.api
                .post(
                        "/revise",
                        Platform.body(Map.of(
                                "task", platform.task(2, 3, 0),
                                "harness", Map.of("source", Platform.SEED),
                                "candidates", 1,
                                "proposer", Map.of("model", "coach@" + FIRST, "demonstrations", "none"))),
                        "Prefer",
                        "wait=60")
                .json();
        assertThat(pinned.at("/settings/proposer/model").asString()).isEqualTo("coach@" + FIRST);
        Api.Answer unknown = platform.api.post(
                "/revise",
                Platform.body(Map.of(
                        "task", platform.task(2, 3, 0),
                        "proposer", Map.of("model", "coach@sha256:" + "3".repeat(64)))));
        assertThat(unknown.json().get("code").asString()).isEqualTo("UNKNOWN_MODEL");
    }

    @Test
    void the_list_of_models_says_what_a_name_stands_for() {
        platform.model.serve("tutor", FIRST);
        JsonNode models = platform.api.get("/models").json().get("data");
        JsonNode tutor = models.valueStream()
                .filter(model -> model.get("id").asString().equals("tutor"))
                .findFirst()
                .orElseThrow();
        assertThat(tutor.get("adapter").asString()).isEqualTo(FIRST);
        assertThat(tutor.get("base").asString()).isEqualTo("solver");
    }
}
