package org.harnesslearning.trainer.run;

import com.github.kagkarlsson.scheduler.SchedulerClient;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.function.Consumer;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.run.Wanted;
import org.harnesslearning.store.training.TrainingRunRow;
import org.springframework.stereotype.Component;

/** Where training runs are watched and controlled. */
@Component
class TrainingDesk {
    private final TrainingServices services;
    private final SchedulerClient scheduler;

    TrainingDesk(TrainingServices services, SchedulerClient scheduler) {
        this.services = services;
        this.scheduler = scheduler;
    }

    /**
     * A run.
     *
     * @throws PlatformException NOT_FOUND
     */
    TrainingRunRow get(String id) {
        return services.runs().find(id).orElseThrow(() -> notFound(id));
    }

    /** Waits until the run has ended, paused or the time is over; returns it as it stands then. */
    TrainingRunRow await(String id, Duration most) {
        Instant end = services.clock().instant().plus(most);
        while (true) {
            TrainingRunRow run = get(id);
            boolean ended = run.state().terminal() || run.state() == RunState.PAUSED;
            if (ended || !services.clock().instant().isBefore(end)) {
                return run;
            }
            try {
                Thread.sleep(50);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return run;
            }
        }
    }

    /**
     * Cancels a run: at once when no worker has it, else within its step.
     *
     * @throws PlatformException NOT_FOUND, INVALID_STATE
     */
    TrainingRunRow cancel(String id) {
        return change(id, run -> {
            switch (run.state()) {
                case QUEUED, PAUSED -> {
                    services.runs().finish(id, RunState.CANCELLED, "cancelled", null, null);
                    services.checkpoints().prune(id, 1);
                    services.runs()
                            .event(
                                    id,
                                    TrainingServices.FINISHED,
                                    Map.of("state", RunState.CANCELLED, "stop_reason", "cancelled"));
                }
                case RUNNING -> services.runs().want(id, Wanted.CANCEL);
                case SUCCEEDED, FAILED, CANCELLED -> throw invalid(run, "cancelled");
            }
        });
    }

    /**
     * Pauses a run: at once when no worker has it, else with a checkpoint after its step, or before it while that only waits
     * for others.
     *
     * @throws PlatformException NOT_FOUND, INVALID_STATE
     */
    TrainingRunRow pause(String id) {
        return change(id, run -> {
            switch (run.state()) {
                case QUEUED -> {
                    services.runs().state(id, RunState.PAUSED, "paused by the user");
                    services.runs()
                            .event(id, "state", Map.of("state", RunState.PAUSED, "message", "paused by the user"));
                }
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
     * Lets a paused run go on from its last checkpoint.
     *
     * @throws PlatformException NOT_FOUND, INVALID_STATE
     */
    TrainingRunRow resume(String id) {
        return change(id, run -> {
            if (run.state() != RunState.PAUSED) {
                throw invalid(run, "resumed");
            }
            services.runs().state(id, RunState.QUEUED, null);
            services.runs().event(id, "state", Map.of("state", RunState.QUEUED));
            TrainingJob.schedule(
                    scheduler, services.runs().get(id), services.clock().instant());
        });
    }

    /** Deletes a run and all that belongs to it but its versions; a worker that has it leaves it. */
    void delete(String id) {
        services.tx().executeWithoutResult(status -> {
            if (services.runs().lock(id).isEmpty()) {
                throw notFound(id);
            }
            services.runs().delete(id);
        });
    }

    private TrainingRunRow change(String id, Consumer<TrainingRunRow> change) {
        services.tx()
                .executeWithoutResult(
                        status -> change.accept(services.runs().lock(id).orElseThrow(() -> notFound(id))));
        return services.runs().get(id);
    }

    private static PlatformException notFound(String id) {
        return new PlatformException(ErrorCode.NOT_FOUND, "There is no training run " + id);
    }

    private static PlatformException invalid(TrainingRunRow run, String what) {
        return new PlatformException(
                ErrorCode.INVALID_STATE, "A run in state " + run.state().json() + " can't be " + what);
    }
}
