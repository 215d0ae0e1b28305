package org.harnesslearning.store.execution;

import java.time.Clock;
import java.util.UUID;
import org.harnesslearning.store.Columns;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Ledger of the solver's calls. A call is paid from the run's budget and written down in one statement, before it starts. */
public final class ModelCalls {
    private final JdbcClient jdbc;
    private final Clock clock;

    public ModelCalls(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /**
     * Begins a call of the solver.
     *
     * @param attemptId one try of the question {@code key}
     * @return false when the run's budget has no call or token left, its deadline has passed, or it was never opened:
     *     then nothing is written and the call must not be made
     */
    public boolean begin(UUID id, String runId, UUID attemptId, ResultKey key) {
        return jdbc.sql("""
                        with paid as (
                            update run_budget set calls_used = calls_used + 1
                            where run_id = :run and calls_used < calls_limit and tokens_used < tokens_limit
                                and (deadline is null or deadline > :now)
                            returning run_id)
                        insert into model_call (id, run_id, role, attempt_id, harness_hash, item_hash, repeat,
                            solver_hash, scorer_hash, started_at)
                        select :id, run_id, 'solver', :attempt, :harness, :item, :repeat, :solver, :scorer, :now
                        from paid
                        """)
                        .param("id", id)
                        .param("run", runId)
                        .param("attempt", attemptId)
                        .param("harness", key.harnessHash())
                        .param("item", key.itemHash())
                        .param("repeat", key.repeat())
                        .param("solver", key.solverHash())
                        .param("scorer", key.scorerHash())
                        .param("now", Columns.time(clock.instant()))
                        .update()
                == 1;
    }

    /** Ends a call and books its tokens; ending it again changes nothing. */
    public void end(UUID id, boolean ok, int promptTokens, int completionTokens, long ms) {
        jdbc.sql("""
                        with ended as (
                            update model_call set ended_at = :now, ok = :ok, prompt_tokens = :prompt,
                                completion_tokens = :completion, ms = :ms
                            where id = :id and ended_at is null
                            returning run_id)
                        update run_budget set tokens_used = tokens_used + :prompt + :completion
                        where run_id = (select run_id from ended)
                        """)
                .param("id", id)
                .param("ok", ok)
                .param("prompt", promptTokens)
                .param("completion", completionTokens)
                .param("ms", ms)
                .param("now", Columns.time(clock.instant()))
                .update();
    }
}
