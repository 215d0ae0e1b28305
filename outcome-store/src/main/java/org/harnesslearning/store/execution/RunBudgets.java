package org.harnesslearning.store.execution;

import java.time.Clock;
import java.time.Instant;
import java.util.Optional;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * What runs may spend on solver calls, and what they have spent. proposer-service opens a run's budget; every executor
 * pays each call from it, so any number of executors together never exceed it by a call. Tokens are known after a call
 * only: the calls under way when the limit is reached are still finished and booked.
 */
public final class RunBudgets {
    private final JdbcClient jdbc;
    private final Clock clock;

    public RunBudgets(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /**
     * A run's budget.
     *
     * @param deadline no call starts after it; null for none
     * @param toolCallsLimit 0 for runs without tools
     */
    public record Budget(
            long callsLimit,
            long callsUsed,
            long tokensLimit,
            long tokensUsed,
            @Nullable Instant deadline,
            long toolCallsLimit,
            long toolCallsUsed) {
        /** What is used up, for a person; null when a call may start. */
        public @Nullable String exhausted(Instant now) {
            if (callsUsed >= callsLimit) {
                return "all " + callsLimit + " solver calls are used";
            }
            if (tokensUsed >= tokensLimit) {
                return tokensUsed + " solver tokens are used of " + tokensLimit;
            }
            if (deadline != null && !deadline.isAfter(now)) {
                return "the run's time is over";
            }
            return toolCallsLimit > 0 && toolCallsUsed >= toolCallsLimit
                    ? "all " + toolCallsLimit + " tool calls are used"
                    : null;
        }
    }

    /**
     * What a run has spent.
     *
     * @param solver all calls that were started, with the tokens and milliseconds of those that ended
     * @param repeated of these, calls of lost attempts at questions that were attempted again
     * @param unfinished of these, calls of attempts that neither committed nor were attempted again: of questions under
     *     way, or cut off by the budget or a cancellation
     * @param cached questions whose results were taken over from other runs, which paid for their calls
     */
    public record RunUsage(Usage solver, long repeated, long unfinished, long cached) {}

    /** Opens a budget. Opening it again keeps what it was opened with. */
    public void open(String runId, long calls, long tokens, @Nullable Instant deadline) {
        open(runId, calls, tokens, deadline, 0);
    }

    /** Opens a budget with calls of tools. Opening it again keeps what it was opened with. */
    public void open(String runId, long calls, long tokens, @Nullable Instant deadline, long toolCalls) {
        jdbc.sql("""
                        insert into run_budget (run_id, calls_limit, tokens_limit, deadline, opened_at, tool_calls_limit)
                        values (:run, :calls, :tokens, :deadline, :now, :tools) on conflict (run_id) do nothing
                        """)
                .param("tools", toolCalls)
                .param("run", runId)
                .param("calls", calls)
                .param("tokens", tokens)
                .param("deadline", Columns.time(deadline))
                .param("now", Columns.time(clock.instant()))
                .update();
    }

    /** The budget of a run, empty when it was never opened. */
    public Optional<Budget> find(String runId) {
        return jdbc.sql("select * from run_budget where run_id = :run")
                .param("run", runId)
                .query((row, number) -> new Budget(
                        row.getLong("calls_limit"),
                        row.getLong("calls_used"),
                        row.getLong("tokens_limit"),
                        row.getLong("tokens_used"),
                        Columns.instant(row, "deadline"),
                        row.getLong("tool_calls_limit"),
                        row.getLong("tool_calls_used")))
                .optional();
    }

    /** What a run has spent so far; zeros for an unknown run. */
    public RunUsage usage(String runId) {
        return jdbc.sql("""
                        with call as (
                            select * from model_call where run_id = :run and role = 'solver'
                        ), attempt as (
                            select attempt_id, harness_hash, item_hash, repeat, solver_hash, scorer_hash,
                                count(*) as calls, max(started_at) as last
                            from call group by 1, 2, 3, 4, 5, 6
                        ), lost as (
                            select a.calls,
                                exists (select 1 from question_result r
                                        where (r.harness_hash, r.item_hash, r.repeat, r.solver_hash, r.scorer_hash)
                                            = (a.harness_hash, a.item_hash, a.repeat, a.solver_hash, a.scorer_hash))
                                or exists (select 1 from attempt b
                                        where (b.harness_hash, b.item_hash, b.repeat, b.solver_hash, b.scorer_hash)
                                            = (a.harness_hash, a.item_hash, a.repeat, a.solver_hash, a.scorer_hash)
                                            and b.attempt_id <> a.attempt_id
                                            and (b.last, b.attempt_id) > (a.last, a.attempt_id)) as again
                            from attempt a
                            where not exists (select 1 from question_result r where r.attempt_id = a.attempt_id)
                        )
                        select (select count(*) from call) as calls,
                            (select coalesce(sum(prompt_tokens), 0) from call) as prompt_tokens,
                            (select coalesce(sum(completion_tokens), 0) from call) as completion_tokens,
                            (select coalesce(sum(ms), 0) from call) as ms,
                            (select coalesce(sum(calls), 0) from lost where again) as repeated,
                            (select coalesce(sum(calls), 0) from lost where not again) as unfinished,
                            (select count(*) from result_use where run_id = :run) as cached
                        """)
                .param("run", runId)
                .query((row, number) -> new RunUsage(
                        new Usage(
                                row.getLong("calls"),
                                row.getLong("prompt_tokens"),
                                row.getLong("completion_tokens"),
                                row.getLong("ms")),
                        row.getLong("repeated"),
                        row.getLong("unfinished"),
                        row.getLong("cached")))
                .single();
    }
}
