package org.harnesslearning.trainer.run;

import com.github.kagkarlsson.scheduler.SchedulerClient;
import com.github.kagkarlsson.scheduler.task.CompletionHandler;
import com.github.kagkarlsson.scheduler.task.TaskDescriptor;
import com.github.kagkarlsson.scheduler.task.helper.CustomTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import javax.sql.DataSource;
import org.harnesslearning.contracts.error.ErrorType;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.trace.WorkContext;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.training.TrainingRunRow;
import org.harnesslearning.trainer.TrainerProperties;
import org.harnesslearning.trainer.distributed.DistributedException;
import org.harnesslearning.trainer.registry.ModelRegistry;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.dao.DataAccessException;
import org.springframework.transaction.TransactionException;

/**
 * The durable job of a training run. A worker that dies is noticed by its missing heartbeats, and another one goes on from
 * the last checkpoint. A Postgres advisory lock, which ends with its connection, keeps two workers from having one run at
 * the same time. Runs beyond the number that this process may do at once wait, the first ordered first.
 */
final class TrainingJob {
    private static final Logger LOG = LoggerFactory.getLogger(TrainingJob.class);
    private static final TaskDescriptor<Void> TASK = TaskDescriptor.of("training");
    /** Starts without a committed step between them after which a run is given up. */
    private static final int MAX_STARTS = 5;

    private final TrainingServices services;
    private final TrainerProperties properties;
    private final TrainingMetrics metrics;
    private final ModelRegistry registry;
    private final DataSource dataSource;
    private final Semaphore places;
    private final Map<TrainingKind, TrainingMethod> methods = new EnumMap<>(TrainingKind.class);
    private volatile boolean draining;

    TrainingJob(
            TrainingServices services,
            TrainerProperties properties,
            TrainingMetrics metrics,
            ModelRegistry registry,
            DataSource dataSource,
            List<TrainingMethod> methods) {
        this.services = services;
        this.properties = properties;
        this.metrics = metrics;
        this.registry = registry;
        this.dataSource = dataSource;
        this.places = new Semaphore(properties.parallelRuns());
        methods.forEach(method -> this.methods.putIfAbsent(method.kind(), method));
    }

    /** Makes a run due; the caller holds the transaction of the change that made it so. */
    static void schedule(SchedulerClient scheduler, TrainingRunRow run, Instant at) {
        scheduler.scheduleIfNotExists(
                TASK.instance(run.id() + "/" + run.version()).scheduledTo(at));
    }

    /** The task for the scheduler. */
    CustomTask<Void> task() {
        return Tasks.custom(TASK)
                .onFailure((complete, operations) -> operations.reschedule(complete, soon(Duration.ofSeconds(1))))
                .onDeadExecutionRevive()
                .execute((instance, context) ->
                        run(instance.getId().substring(0, instance.getId().indexOf('/'))));
    }

    @EventListener(ContextClosedEvent.class)
    void drain() {
        draining = true;
    }

    private Instant soon(Duration wait) {
        return services.clock().instant().plus(wait);
    }

    private CompletionHandler<Void> run(String id) {
        TrainingRunRow waiting = services.runs().find(id).orElse(null);
        boolean first = waiting == null
                || waiting.state() != RunState.QUEUED
                || !services.runs().earlierWaits(id);
        if (!first || !places.tryAcquire()) {
            return (complete, operations) -> operations.reschedule(complete, soon(properties.queuePoll()));
        }
        try (Connection connection = dataSource.getConnection()) {
            if (!lock(connection, "pg_try_advisory_lock", id)) {
                throw new IllegalStateException("another worker still has " + id);
            }
            try {
                begin(id).ifPresent(this::work);
            } finally {
                unlock(connection, id);
            }
            return new CompletionHandler.OnCompleteRemove<>();
        } catch (SQLException e) {
            throw new IllegalStateException("no lock on " + id, e);
        } finally {
            places.release();
        }
    }

    private static void unlock(Connection connection, String id) {
        try {
            lock(connection, "pg_advisory_unlock", id);
        } catch (SQLException e) {
            LOG.info("the lock of {} went with its connection: {}", id, e.getMessage());
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

    private Optional<TrainingRunRow> begin(String id) {
        return services.tx().execute(status -> {
            TrainingRunRow row = services.runs().lock(id).orElse(null);
            if (row == null || (row.state() != RunState.QUEUED && row.state() != RunState.RUNNING)) {
                return Optional.empty();
            }
            if (services.runs().start(id) > MAX_STARTS) {
                end(row, RunState.FAILED, "worker_lost", "the worker was lost " + MAX_STARTS + " times in a row", null);
                return Optional.empty();
            }
            if (row.state() == RunState.QUEUED) {
                services.runs().state(id, RunState.RUNNING, null);
                services.runs().event(id, "state", Map.of("state", RunState.RUNNING));
            }
            return Optional.of(row);
        });
    }

    private void work(TrainingRunRow row) {
        RunSettings settings = Json.mapper().treeToValue(row.settings(), RunSettings.class);
        TrainingMethod method = methods.get(settings.kind());
        if (method == null) {
            pause(row, "this trainer does no runs of kind " + settings.kind().json());
            return;
        }
        try (WorkContext.Fields _ = WorkContext.named(row.id(), null);
                TrainingAttempt attempt =
                        new TrainingAttempt(services, properties, metrics, registry, row, settings, () -> draining)) {
            LOG.info("{} begins", row.id());
            try {
                attempt.work(method);
            } catch (TrainingStopped stop) {
                stopped(row, attempt, stop);
            } catch (DataAccessException | TransactionException e) {
                // The store is away: nothing can be written down now, so the attempt ends and is made again.
                throw e;
            } catch (DistributedException e) {
                // As after a kill: the run goes on from its checkpoint once the ranks are together again.
                services.tx().executeWithoutResult(status -> services.runs().message(row.id(), e.getMessage()));
                throw e;
            } catch (PlatformException e) {
                if (e.code().type() == ErrorType.RESOURCES) {
                    pause(row, e.code() + ": " + e.getMessage());
                } else {
                    fail(row, e);
                }
            } catch (UncheckedIOException e) {
                pause(row, attempt.where() + "files can't be written or read: " + e.getMessage());
            } catch (TrainingAttempt.NoCheckpointException e) {
                pause(row, String.valueOf(e.getMessage()));
            } catch (RuntimeException e) {
                if (!services.runs().find(row.id()).isPresent()) {
                    LOG.info("{} was deleted", row.id());
                    return;
                }
                fail(row, e);
            }
        } catch (IOException e) {
            pause(row, "the folder of the run can't be made: " + e.getMessage());
        }
    }

    private void stopped(TrainingRunRow row, TrainingAttempt attempt, TrainingStopped stop) {
        LOG.info("{} stops: {}", row.id(), stop.getMessage());
        switch (attempt.stop()) {
            case NONE, DRAIN -> throw stop; // rescheduled: this or another process goes on
            case PAUSE -> pause(row, "paused by the user");
            case CANCEL -> end(row, RunState.CANCELLED, "cancelled", null, null);
            case GONE -> {}
        }
    }

    private void fail(TrainingRunRow row, RuntimeException e) {
        LOG.error("{} fails", row.id(), e);
        String message = e instanceof PlatformException platform
                ? platform.code() + ": " + e.getMessage()
                : e.getClass().getSimpleName() + ": " + e.getMessage();
        end(row, RunState.FAILED, "error", message, null);
    }

    private void pause(TrainingRunRow row, String why) {
        LOG.warn("{} pauses: {}", row.id(), why);
        services.tx().executeWithoutResult(status -> {
            if (services.runs().lock(row.id()).isPresent()) {
                services.runs().state(row.id(), RunState.PAUSED, why);
                services.runs().event(row.id(), "state", Map.of("state", RunState.PAUSED, "message", why));
            }
        });
        metrics.ended("paused");
    }

    private void end(
            TrainingRunRow row, RunState state, String reason, @Nullable String message, @Nullable Object result) {
        TrainingAttempt.end(services, metrics, row.id(), state, reason, message, result);
    }
}
