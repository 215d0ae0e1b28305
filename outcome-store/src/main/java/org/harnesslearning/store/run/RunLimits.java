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
    public void limit(String run, long calls, long tokens, Instant deadline) {
        jdbc.sql("update run_budget set calls_limit = ?, tokens_limit = ?, deadline = ? where run_id = ?")
                .params(Columns.row(calls, tokens, Columns.time(deadline), run))
                .update();
    }

    /** Books tokens of the proposer. */
    public void charge(String run, long tokens) {
        jdbc.sql("update run_budget set tokens_used = tokens_used + ? where run_id = ?")
                .params(tokens, run)
                .update();
    }

    /** Forgets a deleted run's budget and its ledger of calls; cached results stay. */
    public void delete(String run) {
        jdbc.sql("delete from model_call where run_id = ?").param(run).update();
        jdbc.sql("delete from run_budget where run_id = ?").param(run).update();
    }
}
