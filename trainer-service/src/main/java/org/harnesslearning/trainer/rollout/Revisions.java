package org.harnesslearning.trainer.rollout;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.ErrorType;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.revision.OrderedRun;
import org.harnesslearning.contracts.revision.RevisionApi;
import org.harnesslearning.contracts.revision.RoundPrompt;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunStore;
import org.harnesslearning.trainer.run.TrainingContext;
import org.harnesslearning.trainer.run.TrainingStopped;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClientException;
import tools.jackson.databind.JsonNode;

/** Orders runs at proposer-service and waits for their end, which it sees in Postgres. */
@Component
public class Revisions {
    private static final Logger LOG = LoggerFactory.getLogger(Revisions.class);
    private static final String AT_ONCE = "wait=0";

    private final RevisionApi api;
    private final RunStore runs;
    private final RolloutProperties properties;
    private final Clock clock;

    Revisions(RevisionApi api, RunStore runs, RolloutProperties properties, Clock clock) {
        this.api = api;
        this.runs = runs;
        this.properties = properties;
        this.clock = clock;
    }

    /**
     * Orders a revision and returns its id; the same key gives the same one again.
     *
     * @throws RolloutFailure when the service refuses it, or is away for all tries
     */
    String revise(JsonNode body, String key, TrainingContext.Desk desk) {
        return order(() -> api.revise(body, key, AT_ONCE), desk);
    }

    /** Orders an evaluation; as {@link #revise}. */
    String evaluate(JsonNode body, String key, TrainingContext.Desk desk) {
        return order(() -> api.evaluate(body, key, AT_ONCE), desk);
    }

    /**
     * The prompt of a stored round without its demonstration.
     *
     * @throws RolloutFailure as {@link #revise}
     */
    public RoundPrompt prompt(String run, int round, TrainingContext.Desk desk) {
        return call(() -> api.prompt(run, round), desk);
    }

    /**
     * Waits until a run has ended well.
     *
     * @throws RolloutFailure when it ended otherwise, is paused, or takes longer than {@code patience}
     */
    RunRow await(String run, String what, Duration patience, TrainingContext.Desk desk) {
        Instant end = clock.instant().plus(patience);
        while (true) {
            desk.check();
            RunRow row = runs.find(run)
                    .orElseThrow(() -> new RolloutFailure(ErrorCode.NOT_FOUND, run + " was deleted before it ended"));
            switch (row.state()) {
                case SUCCEEDED -> {
                    return row;
                }
                case FAILED, CANCELLED ->
                    throw new RolloutFailure(
                            ErrorCode.INVALID_STATE, run + " " + row.state().json() + ": " + row.message());
                case PAUSED ->
                    throw new RolloutFailure(ErrorCode.SOLVER_UNAVAILABLE, run + " is paused: " + row.message());
                case QUEUED, RUNNING -> {
                    if (clock.instant().isAfter(end)) {
                        throw new RolloutFailure(
                                ErrorCode.SOLVER_UNAVAILABLE,
                                run + " has not ended within " + patience.toSeconds() + " s");
                    }
                    desk.pending(what + " " + run);
                    sleep(properties.poll());
                }
            }
        }
    }

    private String order(Call<OrderedRun> call, TrainingContext.Desk desk) {
        return call(call, desk).id();
    }

    private interface Call<T> {
        T get();
    }

    private <T> T call(Call<T> call, TrainingContext.Desk desk) {
        for (int tries = 1; ; tries++) {
            desk.check();
            RolloutFailure failure;
            try {
                return call.get();
            } catch (PlatformException e) {
                failure = new RolloutFailure(e.code(), "proposer-service refuses: " + e.getMessage());
                if (e.code().type() == ErrorType.USER) {
                    throw failure;
                }
            } catch (RestClientException e) {
                if (Thread.currentThread().isInterrupted()) {
                    throw new TrainingStopped("interrupted");
                }
                failure = new RolloutFailure(ErrorCode.SOLVER_UNAVAILABLE, "proposer-service can't be reached");
                LOG.warn("proposer-service can't be reached, try {}", tries, e);
            }
            if (tries >= properties.attempts()) {
                throw failure;
            }
            sleep(properties.retryDelay().multipliedBy(1L << Math.min(tries - 1, 10)));
        }
    }

    private static void sleep(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new TrainingStopped("interrupted");
        }
    }
}
