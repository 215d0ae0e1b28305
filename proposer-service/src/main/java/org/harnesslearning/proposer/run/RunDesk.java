package org.harnesslearning.proposer.run;

import com.github.kagkarlsson.scheduler.SchedulerClient;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.run.IdempotencyStore;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.run.Wanted;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;

/** Where runs are ordered, watched and controlled. */
@Component
public class RunDesk {
    private final RunServices services;
    private final RunEvents events;
    private final IdempotencyStore idempotency;
    private final SchedulerClient scheduler;
    private final RunJob job;

    RunDesk(
            RunServices services,
            RunEvents events,
            IdempotencyStore idempotency,
            SchedulerClient scheduler,
            RunJob job) {
        this.services = services;
        this.events = events;
        this.idempotency = idempotency;
        this.scheduler = scheduler;
        this.job = job;
    }

    /**
     * An Idempotency-Key with what it was sent with.
     *
     * @param owner id of the API key
     */
    public record Once(String owner, String key, String requestHash) {}

    /**
     * The run that a key made before.
     *
     * @throws PlatformException IDEMPOTENCY_MISMATCH when it came with another request
     */
    public Optional<RunRow> earlier(@Nullable Once once) {
        if (once == null) {
            return Optional.empty();
        }
        return idempotency.find(once.owner(), once.key()).map(use -> {
            if (!use.requestHash().equals(once.requestHash())) {
                throw new PlatformException(
                        ErrorCode.IDEMPOTENCY_MISMATCH, "This Idempotency-Key was used with another request");
            }
            return services.runs().get(use.run());
        });
    }

    /**
     * Runs of a kind, newest first.
     *
     * @param before only ids below this one
     */
    public List<RunRow> newest(
            RunKind kind, @Nullable RunState state, @Nullable String task, @Nullable String before, int limit) {
        return services.runs().newest(kind, state, task, before, limit);
    }

    /**
     * Stores a run, its budget and its job, all or nothing.
     *
     * @param harness source of the starting harness
     * @param demonstrations sources of the demonstrations' harnesses
     */
    public RunRow order(
            RunRow run,
            RunSettings settings,
            Map<Split, List<Item>> items,
            String harness,
            List<String> demonstrations,
            @Nullable Once once) {
        Optional<RunRow> stored = services.tx().execute(status -> {
            services.harnesses().save(harness);
            demonstrations.forEach(services.harnesses()::save);
            services.runs().insert(run, items);
            if (once != null && !idempotency.insert(once.owner(), once.key(), once.requestHash(), run.id())) {
                status.setRollbackOnly();
                return Optional.empty();
            }
            RunSettings.Budget budget = settings.budget();
            services.budgets().open(run.id(), budget.solverCalls(), budget.tokens(), null, budget.mostToolCalls());
            RunRow row = services.runs().get(run.id());
            events.append(run.id(), "state", Map.of("state", RunState.QUEUED));
            RunJob.schedule(scheduler, row, services.clock().instant());
            return Optional.of(row);
        });
        return stored.or(() -> earlier(once)).orElseThrow();
    }

    /**
     * A run.
     *
     * @throws PlatformException NOT_FOUND
     */
    public RunRow get(RunKind kind, String id) {
        return services.runs().find(id).filter(run -> run.kind() == kind).orElseThrow(() -> notFound(kind, id));
    }

    /** Waits until the run has ended, paused or the time is over; returns it as it stands then. */
    public RunRow await(RunKind kind, String id, Duration most) {
        Instant end = services.clock().instant().plus(most);
        // Each look is a query, so a long wait looks less often.
        long pauseMs = 50;
        while (true) {
            RunRow run = get(kind, id);
            boolean ended = run.state().terminal() || run.state() == RunState.PAUSED;
            if (ended || !services.clock().instant().isBefore(end)) {
                return run;
            }
            try {
                Thread.sleep(pauseMs);
                pauseMs = Math.min(500, pauseMs * 5 / 4);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return run;
            }
        }
    }

    /**
     * Cancels a run: at once when no worker has it, else between two units of work.
     *
     * @throws PlatformException NOT_FOUND, INVALID_STATE
     */
    public RunRow cancel(RunKind kind, String id) {
        return change(kind, id, run -> {
            switch (run.state()) {
                case QUEUED, PAUSED -> job.cancel(run);
                case RUNNING -> services.runs().want(id, Wanted.CANCEL);
                case SUCCEEDED, FAILED, CANCELLED -> throw invalid(run, "cancelled");
            }
        });
    }

    /**
     * Pauses a run; see {@link #cancel}.
     *
     * @throws PlatformException NOT_FOUND, INVALID_STATE
     */
    public RunRow pause(RunKind kind, String id) {
        return change(kind, id, run -> {
            switch (run.state()) {
                case QUEUED -> events.state(id, RunState.PAUSED, "paused by the user");
                case RUNNING -> {
                    if (run.wanted() == Wanted.CANCEL) {
                        throw invalid(run, "paused: it is being cancelled");
                    }
                    services.runs().want(id, Wanted.PAUSE);
                }
                case PAUSED, SUCCEEDED, FAILED, CANCELLED -> throw invalid(run, "paused");
            }
        });
    }

    /**
     * Lets a paused run go on.
     *
     * @throws PlatformException NOT_FOUND, INVALID_STATE
     */
    public RunRow resume(RunKind kind, String id) {
        return change(kind, id, run -> {
            if (run.state() != RunState.PAUSED) {
                throw invalid(run, "resumed");
            }
            events.state(id, RunState.QUEUED, "");
            RunJob.schedule(scheduler, services.runs().get(id), services.clock().instant());
        });
    }

    /** Deletes a run and all that belongs to it; a worker that has it leaves it at its next unit. */
    public void delete(RunKind kind, String id) {
        services.tx().executeWithoutResult(status -> {
            RunRow run =
                    services.runs().lock(id).filter(row -> row.kind() == kind).orElseThrow(() -> notFound(kind, id));
            services.runs().delete(run.id());
            services.limits().delete(run.id());
        });
    }

    private RunRow change(RunKind kind, String id, Consumer<RunRow> change) {
        services.tx()
                .executeWithoutResult(status -> change.accept(services.runs()
                        .lock(id)
                        .filter(run -> run.kind() == kind)
                        .orElseThrow(() -> notFound(kind, id))));
        return services.runs().get(id);
    }

    private static PlatformException notFound(RunKind kind, String id) {
        return new PlatformException(ErrorCode.NOT_FOUND, "There is no " + kind.json() + " " + id);
    }

    private static PlatformException invalid(RunRow run, String what) {
        return new PlatformException(
                ErrorCode.INVALID_STATE, "A run in state " + run.state().json() + " can't be " + what);
    }
}
