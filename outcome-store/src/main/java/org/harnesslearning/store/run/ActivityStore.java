package org.harnesslearning.store.run;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** What goes on over all runs now and went on lately, counted from what is committed. */
public final class ActivityStore {
    private final JdbcClient jdbc;
    private final Clock clock;

    public ActivityStore(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /** Jobs of the scheduler: due and not taken, taken, and how long the oldest due one waits. */
    public record Jobs(long waiting, long working, @Nullable Double oldestWaitingS) {}

    /** All living executors together. */
    public record Sandbox(long executors, long running, long waiting, long idle, long starting) {}

    /** The solver over a window. */
    public record Solver(long callsInFlight, double tokensPerS, double callsPerS, long windowS) {}

    /** Candidates judged since a time. */
    public record Outcomes(Instant since, long scored, long invalid, long infraFailure, Map<String, Long> byCode) {}

    /** Tokens of both roles by model. */
    public record Spent(String role, String model, Usage usage) {}

    /** One minute: tokens of ended calls of both roles, and committed questions. */
    public record Minute(Instant at, long tokens, long questions) {}

    /** Runs of a kind by state; states without one are missing. */
    public Map<String, Long> runs(RunKind kind) {
        Map<String, Long> counts = new TreeMap<>();
        jdbc.sql("select state, count(*) n from run where kind = ? group by 1")
                .param(kind.json())
                .query((java.sql.ResultSet row) -> {
                    counts.put(row.getString("state"), row.getLong("n"));
                });
        return counts;
    }

    /** The scheduler's queue. */
    public Jobs jobs() {
        return jdbc.sql("""
                        select count(*) filter (where not picked and execution_time <= :now) waiting,
                            count(*) filter (where picked) working,
                            extract(epoch from :now - min(execution_time)
                                filter (where not picked and execution_time <= :now)) oldest
                        from scheduled_tasks""")
                .param("now", Columns.time(clock.instant()))
                .query((row, number) -> new Jobs(
                        row.getLong("waiting"),
                        row.getLong("working"),
                        row.getObject("oldest") == null ? null : Double.valueOf(row.getDouble("oldest"))))
                .single();
    }

    /** Executors whose last beat is at most this old. */
    public Sandbox sandbox(Duration lostAfter) {
        return jdbc.sql("""
                        select count(*) executors, coalesce(sum(running), 0) running, coalesce(sum(waiting), 0) waiting,
                            coalesce(sum(idle), 0) idle, coalesce(sum(starting), 0) starting
                        from executor_instance where beat_at >= now() - make_interval(secs => :seconds)""")
                .param("seconds", lostAfter.toMillis() / 1000.0)
                .query((row, number) -> new Sandbox(
                        row.getLong("executors"),
                        row.getLong("running"),
                        row.getLong("waiting"),
                        row.getLong("idle"),
                        row.getLong("starting")))
                .single();
    }

    /**
     * The solver's calls within a window; a call without an end that is older than an hour is a lost executor's and counts
     * no more.
     */
    public Solver solver(Duration window) {
        double seconds = window.toMillis() / 1000.0;
        Instant now = clock.instant();
        return jdbc.sql("""
                        select count(*) filter (where ended_at is null) in_flight,
                            count(*) filter (where ended_at >= :since) calls,
                            coalesce(sum(prompt_tokens + completion_tokens) filter (where ended_at >= :since), 0) tokens
                        from model_call where started_at >= :hour""")
                .param("since", Columns.time(now.minus(window)))
                .param("hour", Columns.time(now.minus(Duration.ofHours(1))))
                .query((row, number) -> new Solver(
                        row.getLong("in_flight"),
                        row.getLong("tokens") / seconds,
                        row.getLong("calls") / seconds,
                        window.toSeconds()))
                .single();
    }

    /** Candidates judged since a time, with the codes of those that were not scored. */
    public Outcomes outcomes(Instant since) {
        Map<String, Long> byOutcome = new LinkedHashMap<>();
        Map<String, Long> byCode = new TreeMap<>();
        jdbc.sql("""
                        select outcome, code, count(*) n from candidate where finished_at >= ? and outcome is not null
                        group by 1, 2""").params(Columns.row(Columns.time(since))).query((java.sql.ResultSet row) -> {
            byOutcome.merge(row.getString("outcome"), row.getLong("n"), Long::sum);
            if (row.getString("code") != null) {
                byCode.merge(row.getString("code"), row.getLong("n"), Long::sum);
            }
        });
        return new Outcomes(
                since,
                byOutcome.getOrDefault("scored", 0L),
                byOutcome.getOrDefault("invalid", 0L),
                byOutcome.getOrDefault("infra_failure", 0L),
                byCode);
    }

    /** Calls and tokens since a time, by role and model. */
    public List<Spent> spent(Instant since) {
        return jdbc.sql("""
                        select 'solver' as role, coalesce(run.settings->'solver'->>'model', '') model, count(*) calls,
                            sum(prompt_tokens) prompt, sum(completion_tokens) completion, sum(ms) ms
                        from model_call left join run on run.id = model_call.run_id
                        where started_at >= :since and model_call.role = 'solver' group by 2
                        union all
                        select 'proposer', model, sum(jsonb_array_length(candidates)), sum(prompt_tokens), sum(completion_tokens), sum(ms)
                        from proposer_call where committed_at >= :since group by 2""")
                .param("since", Columns.time(since))
                .query((row, number) -> new Spent(
                        row.getString("role"),
                        row.getString("model"),
                        new Usage(
                                row.getLong("calls"),
                                row.getLong("prompt"),
                                row.getLong("completion"),
                                row.getLong("ms"))))
                .list();
    }

    /** The last minutes, oldest first, quiet ones as zeros. */
    public List<Minute> minutes(int count) {
        return jdbc.sql("""
                        with minute as (
                            select generate_series(date_trunc('minute', cast(:now as timestamptz))
                                - make_interval(mins => :before), date_trunc('minute', cast(:now as timestamptz)),
                                interval '1 minute') as at
                        ), solver as (
                            select date_trunc('minute', ended_at) as at, sum(prompt_tokens + completion_tokens) as tokens
                            from model_call where started_at >= :oldest and ended_at is not null group by 1
                        ), proposer as (
                            select date_trunc('minute', committed_at) as at,
                                sum(prompt_tokens + completion_tokens) as tokens
                            from proposer_call where committed_at >= :since group by 1
                        ), question as (
                            select date_trunc('minute', committed_at) as at, count(*) as n
                            from question_result where committed_at >= :since group by 1
                        )
                        select at, coalesce(solver.tokens, 0) + coalesce(proposer.tokens, 0) as tokens,
                            coalesce(question.n, 0) as questions
                        from minute left join solver using (at) left join proposer using (at)
                            left join question using (at)
                        order by at""")
                .param("now", Columns.time(clock.instant()))
                .param("before", count - 1)
                .param("since", Columns.time(clock.instant().minus(Duration.ofMinutes(count))))
                // A call may have begun well before the minute in which it ended.
                .param("oldest", Columns.time(clock.instant().minus(Duration.ofMinutes(count + 60L))))
                .query((row, number) -> new Minute(
                        Objects.requireNonNull(Columns.instant(row, "at")),
                        row.getLong("tokens"),
                        row.getLong("questions")))
                .list();
    }
}
