package org.harnesslearning.store.run;

import java.time.Instant;
import org.harnesslearning.store.Columns;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Changes of a run's opened budget that only the run's own job makes. */
public class RunLimits {
    private final JdbcClient jdbc;

    public RunLimits(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    /** Sets what may be spent from now on, what is spent already included. */
    public void limit(String run, long calls, long tokens, long toolCalls, Instant deadline) {
        jdbc.sql(
                        "update run_budget set calls_limit = ?, tokens_limit = ?, tool_calls_limit = ?, deadline = ? where run_id = ?")
                .params(Columns.row(calls, tokens, toolCalls, Columns.time(deadline), run))
                .update();
    }

    /** Books tokens of the proposer. */
    public void charge(String run, long tokens) {
        jdbc.sql("update run_budget set tokens_used = tokens_used + ? where run_id = ?")
                .params(tokens, run)
                .update();
    }

    /**
     * Forgets what the executor wrote for a deleted run: budget, ledger of calls and the results that it computed, with
     * their answers and traces. Results that another run took over stay, for they are that run's too.
     */
    public void delete(String run) {
        jdbc.sql("delete from result_use where run_id = ?").param(run).update();
        jdbc.sql("""
                        delete from question_result q where q.run_id = ? and not exists (
                            select 1 from result_use u
                            where u.harness_hash = q.harness_hash and u.item_hash = q.item_hash and u.repeat = q.repeat
                              and u.solver_hash = q.solver_hash and u.scorer_hash = q.scorer_hash)""").param(run).update();
        jdbc.sql("delete from tool_call where run_id = ?").param(run).update();
        jdbc.sql("delete from model_call where run_id = ?").param(run).update();
        jdbc.sql("delete from run_budget where run_id = ?").param(run).update();
    }
}
