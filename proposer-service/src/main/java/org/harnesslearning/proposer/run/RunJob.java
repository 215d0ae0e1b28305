package org.harnesslearning.proposer.run;

import com.github.kagkarlsson.scheduler.SchedulerClient;
import com.github.kagkarlsson.scheduler.task.TaskDescriptor;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import javax.sql.DataSource;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.run.Wanted;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;

/**
 * The durable job of a run. A worker that dies is noticed by its missing heartbeats and another one enters the run again.
 * A Postgres advisory lock, which ends with its connection, keeps two workers from having one run at the same time, so
 * heartbeats may be short. Its connection is none of the pool.
 *
 * <p>Each start and each resume of a run is a task instance of its own ({@code id/version}), so that a resume never meets
 * the instance that is just ending.
 */
public final class RunJob {
    private static final Logger LOG = LoggerFactory.getLogger(RunJob.class);
    private static final TaskDescriptor<Void> TASK = TaskDescriptor.of("run");
    /** Starts without a committed unit between them after which a run is given up. */
    private static final int MAX_STARTS = 5;

    private final RunServices services;
    private final RunEvents events;
    private final RunTraces traces;
    private final RunMetrics metrics;
    private final DataSource dataSource;
    private final Map<RunKind, RunWork> works = new EnumMap<>(RunKind.class);
    private volatile boolean draining;

    RunJob(
            RunServices services,
            RunEvents events,
            RunTraces traces,
            RunMetrics metrics,
            DataSource dataSource,
            List<RunWork> works) {
        this.services = services;
        this.events = events;
        this.traces = traces;
        this.metrics = metrics;
        this.dataSource = dataSource;
        works.forEach(work -> this.works.put(work.kind(), work));
    }

    /** Makes a run due; the caller holds the transaction of the change that made it so. */
    static void schedule(SchedulerClient scheduler, RunRow run, Instant at) {
        scheduler.scheduleIfNotExists(
                TASK.instance(run.id() + "/" + run.version()).scheduledTo(at));
    }

    /** The task for the scheduler. */
    OneTimeTask<Void> task() {
        return Tasks.oneTime(TASK)
                .onDeadExecutionRevive()
                .onFailure((complete, operations) -> operations.reschedule(
                        complete, services.clock().instant().plus(Duration.ofSeconds(1))))
                .execute((instance, context) ->
                        run(instance.getId().substring(0, instance.getId().indexOf('/'))));
    }

    @EventListener(ContextClosedEvent.class)
    void drain() {
        draining = true;
    }

    private void run(String id) {
        try (Connection connection = dataSource.getConnection()) {
            if (!lock(connection, "pg_try_advisory_lock", id)) {
                throw new IllegalStateException("another worker still has " + id);
            }
            try {
                begin(id).ifPresent(run -> traces.work(run, () -> work(run)));
            } finally {
                lock(connection, "pg_advisory_unlock", id);
            }
        } catch (SQLException e) {
            throw new IllegalStateException("no lock on " + id, e);
        }
    }

    private static boolean lock(Connection connection, String function, String id) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement("select " + function + "(hashtextextended(?, 0))")) {
            statement.setString(1, id);
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return row.getBoolean(1);
            }
        }
    }

    private Optional<RunContext> begin(String id) {
        return services.tx().execute(status -> {
            RunRow row = services.runs().lock(id).orElse(null);
            if (row == null || (row.state() != RunState.QUEUED && row.state() != RunState.RUNNING)) {
                return Optional.empty();
            }
            int starts = services.runs().start(id);
            if (starts > MAX_STARTS) {
                fail(row, "worker_lost", "the worker was lost " + MAX_STARTS + " times in a row");
                return Optional.empty();
            }
            if (row.state() == RunState.QUEUED) {
                events.state(id, RunState.RUNNING, "");
            }
            return Optional.of(new RunContext(services, row, () -> draining));
        });
    }

    private RunWork workOf(RunContext run) {
        return Objects.requireNonNull(works.get(run.kind()));
    }

    private void work(RunContext run) {
        RunWork work = workOf(run);
        LOG.info("{} begins", run.id());
        try {
            RunWork.Ending ending = work.work(run);
            run.worked();
            end(run, RunState.SUCCEEDED, ending);
        } catch (RunStop stop) {
            LOG.info("{} stops: {} {}", run.id(), stop.reason(), stop.why());
            run.worked();
            switch (stop.reason()) {
                case PAUSE -> pause(run, stop.why());
                case OUTAGE -> pause(run, stop.why()).ifPresent(metrics::outage);
                case CANCEL -> cancel(run);
                case BUDGET -> {
                    work.cancelled(run, stop.why());
                    end(run, RunState.SUCCEEDED, new RunWork.Ending("budget", null, null));
                }
                case DRAIN -> throw stop;
                case GONE -> {}
            }
        }
    }

    /** Cancels a run that no worker has; the caller holds its lock. */
    void cancel(RunRow row) {
        cancel(new RunContext(services, row, () -> draining));
    }

    private void cancel(RunContext run) {
        workOf(run).cancelled(run, "cancelled");
        end(run, RunState.CANCELLED, new RunWork.Ending("cancelled", null, null));
    }

    /** Pauses a run; cancels it when that was asked for after the work had looked last. */
    private Optional<RunRow> pause(RunContext run, String why) {
        Optional<RunRow> paused = services.tx().execute(status -> {
            Optional<RunRow> row = services.runs().lock(run.id());
            if (row.isPresent() && row.get().wanted() == Wanted.CANCEL) {
                cancel(run);
                return Optional.empty();
            }
            row.ifPresent(found -> events.state(run.id(), RunState.PAUSED, why));
            return row;
        });
        paused.ifPresent(row -> metrics.ended(row, RunState.PAUSED));
        return paused;
    }

    private void end(RunContext run, RunState state, RunWork.Ending ending) {
        Optional<RunRow> ended = services.tx().execute(status -> {
            Optional<RunRow> open =
                    services.runs().lock(run.id()).filter(row -> !row.state().terminal());
            open.ifPresent(row -> {
                long lost = services.budgets().usage(run.id()).repeated();
                services.runs().repeated(run.id(), lost);
                services.runs()
                        .finish(run.id(), state, ending.stopReason(), null, ending.result(), ending.lineageHash());
                services.runs().progress(run.id(), row.doneCalls(), row.doneCalls());
                events.append(run.id(), RunEvents.FINISHED, Map.of("state", state, "stop_reason", ending.stopReason()));
            });
            return open;
        });
        ended.ifPresent(row -> metrics.ended(row, state));
    }

    private void fail(RunRow row, String reason, String message) {
        services.runs().finish(row.id(), RunState.FAILED, reason, message, null, null);
        metrics.ended(row, RunState.FAILED);
        events.append(
                row.id(),
                RunEvents.FINISHED,
                Map.of("state", RunState.FAILED, "stop_reason", reason, "message", message));
    }
}
