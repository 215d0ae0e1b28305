package org.harnesslearning.store.execution;

import com.fasterxml.jackson.annotation.JsonValue;
import java.sql.ResultSet;
import java.time.Clock;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Ledger of the calls of tools. A call is paid from the run's budget and written down in one statement, before it starts. */
public final class ToolCalls {
    private final JdbcClient jdbc;
    private final Clock clock;

    public ToolCalls(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /** How a call ended. */
    public enum Outcome {
        /** The harness got a result. */
        OK,
        /** The harness got an exception. */
        ERROR,
        /** The tool failed, and the question has no result. */
        UNAVAILABLE;

        /** Name in the database, in JSON and in metrics. */
        @JsonValue
        public String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * What a run has spent on tools.
     *
     * @param calls calls that were started
     * @param errors of these, calls that raised in the harness
     * @param unavailable of these, calls whose tool failed
     * @param unfinished of these, calls under way, and those of executors that were lost
     * @param repeated of these, calls of lost attempts at questions that have a result of another attempt
     * @param ms milliseconds spent in calls
     * @param byTool calls by the name of the tool
     */
    public record Spent(
            long calls,
            long errors,
            long unavailable,
            long unfinished,
            long repeated,
            long ms,
            Map<String, Long> byTool) {
        public Spent {
            byTool = Map.copyOf(byTool);
        }
    }

    /**
     * Begins a call.
     *
     * @param attemptId one try of the question {@code key}
     * @return false when the run's budget has no call of a tool left or its deadline has passed: then nothing is written and
     *     the call must not be made
     */
    public boolean begin(UUID id, String runId, String tool, UUID attemptId, ResultKey key) {
        return jdbc.sql("""
                        with paid as (
                            update run_budget set tool_calls_used = tool_calls_used + 1
                            where run_id = :run and tool_calls_used < tool_calls_limit
                                and (deadline is null or deadline > :now)
                            returning run_id)
                        insert into tool_call (id, run_id, tool, attempt_id, harness_hash, item_hash, repeat,
                            solver_hash, scorer_hash, started_at)
                        select :id, run_id, :tool, :attempt, :harness, :item, :repeat, :solver, :scorer, :now
                        from paid
                        """)
                        .param("id", id)
                        .param("run", runId)
                        .param("tool", tool)
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

    /**
     * Ends a call; ending it again changes nothing.
     *
     * @param status HTTP status of the last answer, null without one
     * @param tries requests that were sent
     */
    public void end(UUID id, Outcome outcome, @Nullable Integer status, int tries, long responseBytes, long ms) {
        jdbc.sql("""
                        update tool_call set ended_at = :now, outcome = :outcome, status = :status, tries = :tries,
                            response_bytes = :bytes, ms = :ms
                        where id = :id and ended_at is null
                        """)
                .param("id", id)
                .param("outcome", outcome.json())
                .param("status", status)
                .param("tries", tries)
                .param("bytes", responseBytes)
                .param("ms", ms)
                .param("now", Columns.time(clock.instant()))
                .update();
    }

    /** What a run has spent so far; zeros for an unknown run. */
    public Spent spent(String runId) {
        Map<String, Long> byTool = new LinkedHashMap<>();
        jdbc.sql("select tool, count(*) as calls from tool_call where run_id = :run group by tool order by tool")
                .param("run", runId)
                .query((ResultSet row) -> {
                    byTool.put(row.getString("tool"), row.getLong("calls"));
                });
        return jdbc.sql("""
                        select count(*) as calls,
                            count(*) filter (where outcome = 'error') as errors,
                            count(*) filter (where outcome = 'unavailable') as unavailable,
                            count(*) filter (where outcome is null) as unfinished,
                            count(*) filter (where
                                not exists (select 1 from question_result r where r.attempt_id = c.attempt_id)
                                and exists (select 1 from question_result r
                                    where (r.harness_hash, r.item_hash, r.repeat, r.solver_hash, r.scorer_hash)
                                        = (c.harness_hash, c.item_hash, c.repeat, c.solver_hash, c.scorer_hash)))
                                as repeated,
                            coalesce(sum(ms), 0) as ms
                        from tool_call c where run_id = :run
                        """)
                .param("run", runId)
                .query((row, number) -> new Spent(
                        row.getLong("calls"),
                        row.getLong("errors"),
                        row.getLong("unavailable"),
                        row.getLong("unfinished"),
                        row.getLong("repeated"),
                        row.getLong("ms"),
                        byTool))
                .single();
    }
}
