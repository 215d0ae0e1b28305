package org.harnesslearning.proposer.run;

import java.util.Map;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunState;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.stereotype.Component;

/** Writes a run's events: each in the transaction of the change that it tells of. */
@Component
public class RunEvents {
    /** Type of the last event of every run. */
    public static final String FINISHED = "finished";

    private final RunServices services;
    private final ObjectProvider<RunListener> listeners;

    /** @param listeners asked for at the first end of a run, since they may need the scheduler that runs the runs */
    RunEvents(RunServices services, ObjectProvider<RunListener> listeners) {
        this.services = services;
        this.listeners = listeners;
    }

    /** Appends an event; the caller holds the transaction. */
    public void append(String run, String type, Object data) {
        services.runs().event(run, type, data);
        if (type.equals(FINISHED)) {
            RunRow row = services.runs().get(run);
            listeners.orderedStream().forEach(listener -> listener.finished(row));
        }
    }

    /** Changes the state and tells of it; the caller holds the transaction. */
    public void state(String run, RunState state, String message) {
        services.runs().state(run, state, message.isEmpty() ? null : message);
        append(run, "state", message.isEmpty() ? Map.of("state", state) : Map.of("state", state, "message", message));
    }

    /** Updates the progress after a committed unit and tells of it where it changed. */
    public void progress(RunContext run) {
        synchronized (run) {
            run.worked();
            services.tx().executeWithoutResult(status -> {
                RunRow row = services.runs().lock(run.id()).orElse(null);
                if (row == null) {
                    return;
                }
                Progress progress = Progress.of(
                        run,
                        services.rounds().all(run.id()),
                        services.candidates().all(run.id()),
                        services.evaluations().extents(run.id()),
                        services.budgets().usage(run.id()).solver().calls());
                if (progress.done() != row.doneCalls() || progress.planned() != row.plannedCalls()) {
                    services.runs().progress(run.id(), progress.done(), progress.planned());
                    append(
                            run.id(),
                            "progress",
                            Map.of(
                                    "progress",
                                    Map.of(
                                            "done", progress.done(),
                                            "planned", progress.planned(),
                                            "unit", "solver_calls")));
                }
            });
        }
    }
}
