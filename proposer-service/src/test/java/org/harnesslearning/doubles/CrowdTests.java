package org.harnesslearning.doubles;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** More runs at work than the pool has connections. */
@RequiresPostgres
class CrowdTests {
    private static final int RUNS = 24;

    @Test
    void the_locks_of_many_runs_leave_connections_for_their_work() {
        try (Platform platform =
                new Platform(List.of("--db-scheduler.threads=16", "--spring.datasource.hikari.maximum-pool-size=4"))) {
            String model = platform.model(Map.of());
            List<String> ids = new ArrayList<>();
            for (int i = 0; i < RUNS; i++) {
                Map<String, Object> request = platform.request(model, Map.of("rounds", 1, "candidates", 1));
                Api.Answer answer = platform.api.post("/adapt", Platform.body(request));
                assertThat(answer.status()).as(answer.body()).isEqualTo(202);
                ids.add(answer.json().get("id").asString());
            }
            for (String id : ids) {
                JsonNode run = platform.api.await(id, Api::ended);
                assertThat(run.get("state").asString()).as(run.toString()).isEqualTo("succeeded");
            }
        }
    }
}
