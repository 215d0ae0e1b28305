package org.harnesslearning.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.PlatformProcess;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * The whole platform as a process, killed as by {@code kill -9} at four places of one adaptation: Reasoning Gym items, a
 * real small model as solver, Docker sandboxes, Postgres; the proposer's replies were recorded from
 * {@code qwen2.5-coder-1.5b} (two of them make the same edit, one returns a number where text is due).
 */
@RequiresDocker
@RequiresModel
@RequiresPostgres
class KilledPlatformTest {
    private static final Duration PATIENCE = Duration.ofMinutes(4);

    @TempDir
    Path folder;

    private PlatformProcess platform;

    @AfterEach
    void stop() throws Exception {
        platform.close();
    }

    @Test
    void a_run_killed_at_four_places_finishes_and_computes_nothing_twice() throws Exception {
        start();
        String run = adapt();

        await(
                "a proposer call is under way",
                run,
                "select count(*) > 0 from proposer_call where run_id = ? and attempts > 0 and committed_at is null");
        platform.kill();

        start();
        await("the solver answers for a candidate", run, """
                select count(*) > 0 from model_call m where m.run_id = ? and m.role = 'solver' and m.ended_at is null
                  and exists (select 1 from candidate c
                              where c.run_id = m.run_id and c.harness = m.harness_hash and c.outcome is null)""");
        platform.kill();

        start();
        try (Connection lock = platform.connect()) {
            lock.setAutoCommit(false);
            try (Statement statement = lock.createStatement()) {
                statement.execute("select 1 from round where run_id = '" + run + "' and round = 1 for no key update");
            }
            await(
                    "all candidates have outcomes and the round waits for its choice",
                    run,
                    "select count(*) = 4 from candidate where run_id = ? and round = 1 and outcome is not null");
            assertThat(single(run, "select count(*) from round where run_id = ? and chosen is not null"))
                    .isEqualTo("0");
            platform.kill();
        }

        start();
        await("the solver answers for a held-out question", run, """
                select count(*) > 0 from model_call m join evaluation e on e.run_id = m.run_id and e.split = 'held_out'
                where m.run_id = ? and m.role = 'solver' and m.ended_at is null and e.state <> 'done'
                  and m.item_hash in (select hash from run_item i where i.run_id = m.run_id and i.split = 'held_out')""");
        platform.kill();

        start();
        await("the run ends", run, "select state not in ('queued', 'running') from run where id = ?");
        JsonNode result = platform.api().get("/adaptations/" + run);

        assertThat(result.at("/state").asString()).isEqualTo("succeeded");
        assertThat(result.at("/recorded").asBoolean()).isTrue();
        assertThat(result.at("/result/held_out/seed/n").asInt()).isEqualTo(3);
        assertThat(result.at("/result/held_out/result/n").asInt()).isEqualTo(3);

        JsonNode counts = result.get("counts");
        int scored = counts.get("scored").asInt();
        int invalid = counts.get("invalid").asInt();
        assertThat(scored).as("scored").isPositive();
        assertThat(invalid).as("invalid").isPositive();
        assertThat(counts.get("duplicates").asInt()).as("duplicates").isPositive();
        assertThat(counts.get("infra_failure").asInt()).isZero();
        assertThat(counts.get("attempted").asInt()).isEqualTo(4).isEqualTo(scored + invalid);

        assertThat(single(run, """
                select count(*) from model_call m join question_result q
                    using (harness_hash, item_hash, repeat, solver_hash, scorer_hash)
                where m.run_id = ? and m.started_at > q.committed_at""")).as("calls for a committed question").isEqualTo("0");
        long lostSolverCalls = Long.parseLong(single(run, """
                select count(*) from model_call m where m.run_id = ? and m.role = 'solver'
                  and not exists (select 1 from question_result q where q.attempt_id = m.attempt_id)"""));
        long lostReplies = Long.parseLong(
                single(
                        run,
                        "select coalesce(sum((attempts - 1) * jsonb_array_length(candidates)), 0) from proposer_call where run_id = ?"));
        assertThat(lostSolverCalls).as("solver calls that the kills cut off").isBetween(2L, 12L);
        assertThat(lostReplies).as("replies that the kills cut off").isPositive();
        assertThat(result.at("/usage/repeated").asLong()).isEqualTo(lostSolverCalls + lostReplies);
        assertThat(result.at("/usage/solver/calls").asString())
                .isEqualTo(single(run, "select count(*) from model_call where run_id = ? and role = 'solver'"));
    }

    private String adapt() throws Exception {
        Map<String, Object> request = Map.of(
                "task",
                Map.of("reasoning_gym", Map.of("family", "chain_sum", "seed", 42)),
                "splits",
                Map.of("feedback", 2, "dev", 3, "held_out", 3),
                "candidates",
                4,
                "rounds",
                1,
                "proposer",
                Map.of("model", "recorded-1.5b"),
                "solver",
                Map.of("model", "smollm2-135m", "max_tokens", 96));
        HttpResponse<String> answer = platform.api().send("POST", "/adapt", request);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(202);
        return Json.mapper().readTree(answer.body()).get("id").asString();
    }

    private void start() throws Exception {
        Path replies = SharedData.root().resolve("standalone/src/test/resources/recorded/chain_sum-1.5b.jsonl");
        platform = PlatformProcess.start(
                folder,
                List.of(
                        "solver.models[0].name=recorded-1.5b",
                        "solver.models[0].kind=recorded",
                        "solver.models[0].file=" + replies,
                        "solver.models[0].delay=2s"));
    }

    private String single(String run, String sql) throws Exception {
        return platform.single(sql, run);
    }

    private void await(String what, String run, String sql) throws Exception {
        platform.await(what, PATIENCE, () -> single(run, sql).equals("t"));
    }
}
