package org.harnesslearning.store.execution;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Clock;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.harnesslearning.contracts.execution.HarnessError;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Committed results of questions. A result is written once and never changed. */
public final class QuestionResults {
    private static final String KEY =
            "harness_hash = :harness and repeat = :repeat and solver_hash = :solver and scorer_hash = :scorer";

    private final JdbcClient jdbc;
    private final Clock clock;

    public QuestionResults(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /** What is stored beside the columns. */
    record Detail(@Nullable HarnessError error, QuestionResult.Trace trace, Usage usage) {}

    /** The result under one key. */
    public Optional<QuestionResult> find(ResultKey key) {
        return Optional.ofNullable(
                find(key.harnessHash(), key.repeat(), key.solverHash(), key.scorerHash(), List.of(key.itemHash()))
                        .get(key.itemHash()));
    }

    /** Stored results of one harness, repeat, solver and scorer, by item hash. */
    public Map<String, QuestionResult> find(
            String harnessHash, int repeat, String solverHash, String scorerHash, Collection<String> itemHashes) {
        Map<String, QuestionResult> found = new HashMap<>();
        jdbc.sql("select * from question_result where " + KEY + " and item_hash = any(:items)")
                .param("harness", harnessHash)
                .param("repeat", repeat)
                .param("solver", solverHash)
                .param("scorer", scorerHash)
                .param("items", itemHashes.toArray(String[]::new))
                .query((row, number) -> result(row))
                .list()
                .forEach(result -> found.put(result.itemHash(), result));
        return found;
    }

    /**
     * Commits a result unless one is stored under the key.
     *
     * @param attemptId the attempt whose calls paid for it
     * @return whether this result was stored; if not, the stored one counts
     */
    public boolean commit(ResultKey key, String runId, UUID attemptId, QuestionResult result) {
        String answer = result.answer();
        return jdbc.sql("""
                        insert into question_result (harness_hash, item_hash, repeat, solver_hash, scorer_hash, run_id,
                            attempt_id, code, score, strict, answer, detail, committed_at)
                        values (:harness, :item, :repeat, :solver, :scorer, :run, :attempt, :code, :score, :strict,
                            :answer, cast(:detail as jsonb), :now)
                        on conflict (harness_hash, item_hash, repeat, solver_hash, scorer_hash) do nothing
                        """)
                        .param("harness", key.harnessHash())
                        .param("item", key.itemHash())
                        .param("repeat", key.repeat())
                        .param("solver", key.solverHash())
                        .param("scorer", key.scorerHash())
                        .param("run", runId)
                        .param("attempt", attemptId)
                        .param("code", result.code().name())
                        .param("score", result.score())
                        .param("strict", result.strict())
                        .param("answer", answer == null ? null : Columns.storable(answer))
                        .param("detail", Columns.json(new Detail(result.error(), result.trace(), result.usage())))
                        .param("now", Columns.time(clock.instant()))
                        .update()
                == 1;
    }

    /**
     * Writes down which stored results a run uses although another run paid for them; {@link RunBudgets#usage} counts
     * them. Writing it down again changes nothing.
     */
    public void use(
            String runId,
            String harnessHash,
            int repeat,
            String solverHash,
            String scorerHash,
            Collection<String> itemHashes) {
        jdbc.sql("""
                        insert into result_use (run_id, harness_hash, item_hash, repeat, solver_hash, scorer_hash, used_at)
                        select :run, harness_hash, item_hash, repeat, solver_hash, scorer_hash, :now from question_result
                        where %s and item_hash = any(:items) and run_id <> :run
                        on conflict do nothing
                        """.formatted(KEY))
                .param("run", runId)
                .param("harness", harnessHash)
                .param("repeat", repeat)
                .param("solver", solverHash)
                .param("scorer", scorerHash)
                .param("items", itemHashes.toArray(String[]::new))
                .param("now", Columns.time(clock.instant()))
                .update();
    }

    private static QuestionResult result(ResultSet row) throws SQLException {
        Detail detail = Json.read(row.getString("detail"), Detail.class);
        return new QuestionResult(
                row.getString("item_hash"),
                row.getInt("repeat"),
                QuestionCode.valueOf(row.getString("code")),
                row.getDouble("score"),
                row.getBoolean("strict"),
                row.getString("answer"),
                detail.error(),
                detail.trace(),
                detail.usage());
    }
}
