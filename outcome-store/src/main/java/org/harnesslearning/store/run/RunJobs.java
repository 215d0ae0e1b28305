package org.harnesslearning.store.run;

import java.sql.ResultSet;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.Map;
import org.harnesslearning.store.Columns;
import org.springframework.jdbc.core.simple.JdbcClient;

/** The queue of runs: the scheduler's table, which holds one row for each run that is due or being worked on. */
public class RunJobs {
    private final JdbcClient jdbc;

    public RunJobs(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    /**
     * Runs of one kind.
     *
     * @param queued due, and no worker has them
     * @param running a worker has them
     * @param age how long the first of the queued ones has been due; zero when none is
     */
    public record Waiting(long queued, long running, Duration age) {}

    /** The queue as it stands, by kind; kinds without a run are missing. */
    public Map<RunKind, Waiting> waiting(Instant now) {
        Map<RunKind, Waiting> waiting = new EnumMap<>(RunKind.class);
        jdbc.sql("""
                        select split_part(task_instance, '_', 1) as prefix,
                            count(*) filter (where not picked and execution_time <= :now) as queued,
                            count(*) filter (where picked) as running,
                            min(execution_time) filter (where not picked and execution_time <= :now) as first
                        from scheduled_tasks where task_name = 'run' group by 1""").param("now", Columns.time(now)).query((ResultSet row) -> {
            String prefix = row.getString("prefix");
            Instant first = Columns.instant(row, "first");
            for (RunKind kind : RunKind.values()) {
                if (kind.prefix().equals(prefix)) {
                    waiting.put(
                            kind,
                            new Waiting(
                                    row.getLong("queued"),
                                    row.getLong("running"),
                                    first == null ? Duration.ZERO : Duration.between(first, now)));
                }
            }
        });
        return waiting;
    }
}
