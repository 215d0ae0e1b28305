package org.harnesslearning.standalone.cli;

import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/**
 * Waits for a run to end, telling of its events. A stream that breaks is opened again after the last event; where no
 * stream can be had, the resource is asked again and again.
 */
final class RunFollower {
    private static final Set<String> ENDED = Set.of("succeeded", "failed", "cancelled");
    private static final int STREAM_TRIES = 3;

    private final Api api;
    private final RunProgress progress;
    private final Duration pollEvery;

    RunFollower(Api api, RunProgress progress, Duration pollEvery) {
        this.api = api;
        this.progress = progress;
        this.pollEvery = pollEvery;
    }

    /** Whether a run in this state has ended. */
    static boolean ended(JsonNode run) {
        return ENDED.contains(run.path("state").asString(""));
    }

    /**
     * Follows a run to its end.
     *
     * @param path of the resource, such as {@code /adaptations/adp_…}
     * @param stream whether the resource has events
     * @return the finished resource
     */
    JsonNode follow(String path, boolean stream) {
        if (stream) {
            followEvents(path);
        }
        return poll(path, () -> false);
    }

    /**
     * Follows a run to its end, but not for ever.
     *
     * @throws CommandException when the time is over; the run goes on
     */
    JsonNode follow(String path, Duration most, LongSupplier nanoTime) {
        long begin = nanoTime.getAsLong();
        return poll(path, () -> nanoTime.getAsLong() - begin > most.toNanos());
    }

    private JsonNode poll(String path, BooleanSupplier over) {
        while (true) {
            JsonNode run = api.get(path);
            progress.update(run);
            if (ended(run)) {
                progress.stop();
                return run;
            }
            if (run.path("state").asString("").equals("paused")) {
                progress.say("the run is paused: " + run.path("message").asString("by request") + "; POST " + path
                        + "/resume goes on");
            }
            if (over.getAsBoolean()) {
                progress.stop();
                throw new CommandException(
                        ExitCode.FAILED,
                        "the run is not finished in time and goes on at the platform; POST " + path
                                + "/cancel ends it");
            }
            pause();
        }
    }

    private void followEvents(String path) {
        String last = "";
        int failures = 0;
        while (failures < STREAM_TRIES) {
            try (EventReader reader = new EventReader(api.events(path + "/events", last))) {
                for (EventReader.Event event = reader.next(); event != null; event = reader.next()) {
                    failures = 0;
                    last = event.id();
                    tell(event);
                    if (event.type().equals("finished")) {
                        return;
                    }
                }
            } catch (IOException e) {
                progress.say("the event stream broke (" + e.getMessage() + "); trying again");
            }
            failures++;
            pause();
        }
    }

    private void tell(EventReader.Event event) {
        try {
            progress.event(event.type(), Json.mapper().readTree(event.data()));
        } catch (JacksonException e) {
            progress.say("an event could not be read: " + event.type());
        }
    }

    private void pause() {
        try {
            Thread.sleep(pollEvery);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommandException(ExitCode.FAILED, "interrupted; the run goes on at the platform");
        }
    }
}
