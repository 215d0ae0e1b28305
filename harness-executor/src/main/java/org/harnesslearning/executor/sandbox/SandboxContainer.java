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
import java.util.concurrent.atomic.AtomicLong;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.MissingNode;

/**
 * A running single-use container that speaks frames on its standard streams. For one thread at a time; {@link #close}
 * may be called by any and removes the container.
 */
public final class SandboxContainer implements AutoCloseable {
    private static final int MAX_QUEUED_FRAMES = 10_000;
    private static final long MAX_QUEUED_BYTES = 32 << 20;
    private static final int STDERR_CHARS = 8192;

    private final DockerEngine engine;
    private final String id;
    private final Frames.Outgoing outgoing = new Frames.Outgoing();
    private final LinkedBlockingQueue<Queued> incoming = new LinkedBlockingQueue<>();
    private final AtomicLong queuedBytes = new AtomicLong();
    private final StringBuffer stderr = new StringBuffer();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final Streams streams = new Streams();
    private volatile JsonNode ready = MissingNode.getInstance();

    SandboxContainer(DockerEngine engine, String id) {
        this.engine = engine;
        this.id = id;
    }

    /**
     * How a container ended.
     *
     * @param memoryKill the kernel killed one of its processes for memory
     * @param ranOn it did not end by itself, but when its end was asked for
     */
    public record End(int exitCode, boolean memoryKill, boolean ranOn) {}

    /** The first frame, by which the entry point said that it is ready. */
    JsonNode ready() {
        return ready;
    }

    void ready(JsonNode frame) {
        ready = frame;
    }

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
        Queued first = incoming.poll(Math.max(0, timeout.toNanos()), TimeUnit.NANOSECONDS);
        if (first == null) {
            return new Received.Nothing();
        }
        queuedBytes.addAndGet(-first.bytes);
        if (first.received instanceof Received.Closed) {
            incoming.add(first);
        }
        return first.received;
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

    /** What waits to be received, and how many bytes it took on the stream. */
    private record Queued(Received received, long bytes) {}

    private void closed(String reason, boolean broken) {
        incoming.add(new Queued(new Received.Closed(reason, broken), 0));
    }

    /** Receives both streams on docker-java's thread. */
    final class Streams extends ResultCallback.Adapter<Frame> {
        private final Frames.Decoder decoder = new Frames.Decoder();
        private final AtomicInteger failures = new AtomicInteger();
        private long undecoded;

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
                undecoded += frame.getPayload().length;
                decoder.add(frame.getPayload());
                for (JsonNode body = decoder.next(); body != null; body = decoder.next()) {
                    // What nobody takes from the queue must not fill this process's memory.
                    if (incoming.size() >= MAX_QUEUED_FRAMES || queuedBytes.addAndGet(undecoded) > MAX_QUEUED_BYTES) {
                        throw new IOException("more came than anyone asked for");
                    }
                    incoming.add(new Queued(new Received.Frame(body), undecoded));
                    undecoded = 0;
                }
            } catch (IOException e) {
                failures.incrementAndGet();
                closed("The container broke the protocol: " + e.getMessage(), true);
            }
        }

        @Override
        public void onError(Throwable throwable) {
            closed("The connection to the container failed: " + throwable, false);
            super.onError(throwable);
        }

        @Override
        public void onComplete() {
            closed("The container's streams ended", false);
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
