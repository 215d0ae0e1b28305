package org.harnesslearning.doubles;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

@RequiresPostgres
class RetentionTests {
    @Test
    void runs_that_ended_long_ago_go_with_all_their_data_and_others_stay() throws Exception {
        try (Platform platform =
                new Platform(List.of("--proposer.retention.runs=20d", "--proposer.retention.interval=200ms"))) {
            Map<String, Object> task = platform.task(2, 4, 5);
            Map<String, Object> request =
                    Map.of("task", task, "harness", Map.of("source", Platform.SEED.replace("0.0", "0.5")));
            String old = id(platform, request);
            // Takes over the results of the first: they are this run's too.
            String kept = id(platform, request);
            String other = id(platform, Map.of("task", platform.task(2, 4, 5)));
            platform.jdbc
                    .sql("update run set finished_at = now() - interval '21 days' where id in (?, ?)")
                    .params(old, other)
                    .update();
            long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
            while (platform.rows("run") > 1 && System.nanoTime() < end) {
                Thread.sleep(20);
            }
            assertThat(platform.api.get("/evaluations/" + old).status()).isEqualTo(404);
            assertThat(platform.api.get("/evaluations/" + other).status()).isEqualTo(404);
            JsonNode run = platform.api.get("/evaluations/" + kept).json();
            assertThat(run.at("/score/n").asInt()).isEqualTo(4);
            assertThat(run.at("/usage/cached").asInt()).isEqualTo(4);
            assertThat(platform.rows("question_result")).isEqualTo(4);
            assertThat(platform.rows("model_call")).isZero();
        }
    }

    private static String id(Platform platform, Map<String, Object> request) {
        JsonNode run = platform.api.post("/evaluations", Platform.body(request)).json();
        assertThat(run.get("state").asString()).as(run.toString()).isEqualTo("succeeded");
        return run.get("id").asString();
    }
}
