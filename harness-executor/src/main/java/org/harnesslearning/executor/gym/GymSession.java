package org.harnesslearning.executor.gym;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.harnesslearning.executor.sandbox.Received;
import org.harnesslearning.executor.sandbox.SandboxContainer;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * One running container and the requests in it. One thread reads the container's frames and hands each to the caller that
 * waits for it; the same thread keeps the server awake, which ends by itself when it hears nothing for 90 s.
 */
final class GymSession implements AutoCloseable {
    private static final Duration PING = Duration.ofSeconds(20);

    /** The container is gone or hung, and with it the answer. */
    static final class LostException extends Exception {
        private static final long serialVersionUID = 1L;

        LostException(String message) {
            super(message);
        }
    }

    private final SandboxContainer container;
    private final Instant started;
    private final AtomicLong ids = new AtomicLong();
    private final Map<Long, CompletableFuture<JsonNode>> waiting = new ConcurrentHashMap<>();
    private volatile @Nullable String lost;
    private volatile boolean retired;

    GymSession(SandboxContainer container, Instant started) {
        this.container = container;
        this.started = started;
        Thread.ofVirtual().name("gym-" + container.id()).start(this::read);
    }

    Instant started() {
        return started;
    }

    boolean usable() {
        return lost == null && !retired;
    }

    /** Id of the container. */
    String containerId() {
        return container.id();
    }

    /**
     * Sends a request and waits for its answer.
     *
     * @throws LostException when the container ended, or did not answer in time and was closed for it
     */
    JsonNode request(Map<String, Object> body, Duration timeout) throws LostException, InterruptedException {
        long id = ids.incrementAndGet();
        CompletableFuture<JsonNode> answer = new CompletableFuture<>();
        waiting.put(id, answer);
        try {
            String reason = lost;
            if (reason != null) {
                throw new LostException(reason);
            }
            Map<String, Object> message = new LinkedHashMap<>(body);
            message.put("id", id);
            container.send(message);
            return answer.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            end("The Reasoning Gym container did not answer within " + timeout.toSeconds() + " s");
            throw new LostException("The Reasoning Gym container did not answer within " + timeout.toSeconds() + " s");
        } catch (ExecutionException e) {
            throw new LostException(
                    String.valueOf(e.getCause() == null ? e : e.getCause().getMessage()));
        } finally {
            waiting.remove(id);
            if (retired && waiting.isEmpty()) {
                close();
            }
        }
    }

    /** Takes no new requests and closes when those in it are done. */
    void retire() {
        retired = true;
        if (waiting.isEmpty()) {
            close();
        }
    }

    private void read() {
        long lastPing = System.nanoTime();
        try {
            while (lost == null) {
                switch (container.receive(PING)) {
                    case Received.Frame frame -> {
                        CompletableFuture<JsonNode> answer =
                                waiting.get(frame.body().path("id").asLong(-1));
                        if (answer != null) {
                            answer.complete(frame.body());
                        }
                    }
                    case Received.Nothing nothing -> {}
                    case Received.Closed closed -> {
                        end(closed.reason() + ". " + container.stderr());
                        return;
                    }
                }
                if (System.nanoTime() - lastPing >= PING.toNanos()) {
                    container.send(Map.of("id", 0, "op", "ping"));
                    lastPing = System.nanoTime();
                }
            }
        } catch (InterruptedException e) {
            end("The executor is shutting down");
        }
    }

    private void end(String reason) {
        lost = reason;
        for (CompletableFuture<JsonNode> answer : List.copyOf(waiting.values())) {
            answer.completeExceptionally(new LostException(reason));
        }
        container.close();
    }

    /** Removes the container; requests that still wait fail. */
    @Override
    public void close() {
        end("The Reasoning Gym container was closed");
    }
}
