package org.harnesslearning.executor.sandbox;

import com.github.dockerjava.api.async.ResultCallback;
import com.github.dockerjava.api.model.Frame;
import com.github.dockerjava.api.model.StreamType;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import tools.jackson.databind.JsonNode;

/**
 * A running single-use container that speaks frames on its standard streams. For one thread at a time; {@link #close}
 * may be called by any and removes the container.
 */
public final class SandboxContainer implements AutoCloseable {
    private static final int MAX_QUEUED_FRAMES = 10_000;
    private static final int STDERR_CHARS = 8192;

    private final DockerEngine engine;
    private final String id;
    private final Frames.Outgoing outgoing = new Frames.Outgoing();
    private final LinkedBlockingQueue<Received> incoming = new LinkedBlockingQueue<>();
    private final StringBuffer stderr = new StringBuffer();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final Streams streams = new Streams();

    SandboxContainer(DockerEngine engine, String id) {
        this.engine = engine;
        this.id = id;
    }

    /** How a container ended. */
    public record End(int exitCode, boolean memoryKill) {}

    /** The container's id at the engine. */
    public String id() {
        return id;
    }

    /** Sends one frame; does not wait for it to arrive. */
    public void send(Object body) {
        outgoing.send(Frames.encode(body));
    }

    /**
     * Waits for the next frame.
     *
     * @throws InterruptedException when the caller's thread is interrupted; the container should then be closed
     */
    public Received receive(Duration timeout) throws InterruptedException {
        Received received = incoming.poll(Math.max(0, timeout.toNanos()), TimeUnit.NANOSECONDS);
        if (received == null) {
            return new Received.Nothing();
        }
        if (received instanceof Received.Closed) {
            incoming.add(received);
        }
        return received;
    }

    /**
     * How the container ended, asked of the engine after its streams closed; kills it first where it still runs.
     *
     * @throws SandboxFaultException when the engine can't tell
     */
    public End end() {
        return engine.end(id);
    }

    /** The start of what the entry point itself wrote to standard error: a few lines about its own failure, if any. */
    public String stderr() {
        return stderr.toString();
    }

    /** Kills and removes the container. Never throws; what can't be removed now is tried again later. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            outgoing.close();
            engine.remove(id);
            streams.shut();
        }
    }

    Frames.Outgoing outgoing() {
        return outgoing;
    }

    Streams streams() {
        return streams;
    }

    /** Receives both streams on docker-java's thread. */
    final class Streams extends ResultCallback.Adapter<Frame> {
        private final Frames.Decoder decoder = new Frames.Decoder();
        private final AtomicInteger failures = new AtomicInteger();

        @Override
        public void onNext(Frame frame) {
            if (frame.getStreamType() == StreamType.STDERR) {
                int room = STDERR_CHARS - stderr.length();
                if (room > 0) {
                    String text = new String(frame.getPayload(), StandardCharsets.UTF_8);
                    stderr.append(text, 0, Math.min(room, text.length()));
                }
                return;
            }
            if (failures.get() > 0) {
                return;
            }
            try {
                decoder.add(frame.getPayload());
                for (JsonNode body = decoder.next(); body != null; body = decoder.next()) {
                    if (incoming.size() >= MAX_QUEUED_FRAMES) {
                        throw new IOException("more frames came than anyone asked for");
                    }
                    incoming.add(new Received.Frame(body));
                }
            } catch (IOException e) {
                failures.incrementAndGet();
                incoming.add(new Received.Closed("The container broke the protocol: " + e.getMessage()));
            }
        }

        @Override
        public void onError(Throwable throwable) {
            incoming.add(new Received.Closed("The connection to the container failed: " + throwable));
            super.onError(throwable);
        }

        @Override
        public void onComplete() {
            incoming.add(new Received.Closed("The container's streams ended"));
            super.onComplete();
        }

        void shut() {
            try {
                close();
            } catch (IOException e) {
                // The container is gone; so is the connection.
            }
        }
    }
}
