package org.harnesslearning.solver.inference;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Streams one completion as server-sent events, one for each piece of text, {@code data: [DONE]} last. A comment every 15
 * seconds keeps the connection open; a write that fails cancels the generation. What fails before anything was sent is an
 * ordinary error answer, what fails later an event with an {@code error}.
 *
 * <p>Between the thread that makes tokens and the connection lies a bounded buffer. A client that reads so slowly that it
 * fills up has its generation cancelled: nobody waits for it.
 *
 * @param <R> the complete answer
 */
final class EventStream<R> {
    static final Duration HEARTBEAT = Duration.ofSeconds(15);

    private static final Logger LOG = LoggerFactory.getLogger(EventStream.class);
    private static final int BUFFERED = 1024;

    /** Makes the answer. */
    interface Producer<R> {
        R run(DeltaSink sink, Cancellation cancellation);
    }

    /** How answers of a kind look in events; each map is one entry of {@code choices}. */
    interface Form<R> {
        /** Value of {@code object}. */
        String object();

        /** What comes before the first piece. */
        List<Map<String, @Nullable Object>> opening();

        Map<String, @Nullable Object> piece(Delta delta);

        /** What comes after the last piece. */
        List<Map<String, @Nullable Object>> closing(R answer);

        /** Fields beside {@code choices} in the last event but that of the usage. */
        Map<String, Object> extensions(R answer);

        /** The fields of the event that tells the usage. */
        Map<String, Object> usage(R answer);
    }

    private sealed interface Event<R> {
        record Piece<R>(Delta delta) implements Event<R> {}

        record Done<R>(R answer) implements Event<R> {}

        record Failed<R>(RuntimeException cause) implements Event<R> {}
    }

    private final Form<R> form;
    private final Map<String, Object> head = new LinkedHashMap<>();
    private final boolean withUsage;
    private final Duration heartbeat;
    private final BlockingQueue<Event<R>> events = new ArrayBlockingQueue<>(BUFFERED);
    private volatile boolean full;
    private volatile boolean ended;

    EventStream(Form<R> form, String id, long created, String model, boolean withUsage, Duration heartbeat) {
        this.form = form;
        this.withUsage = withUsage;
        this.heartbeat = heartbeat;
        head.put("id", id);
        head.put("object", form.object());
        head.put("created", created);
        head.put("model", model);
    }

    /** Runs the producer on a thread of its own and writes what comes, until it has ended or the client has gone. */
    void write(HttpServletResponse response, Cancellation cancellation, Producer<R> producer) throws IOException {
        Thread.ofVirtual().name("completion-stream").start(() -> produce(cancellation, producer));
        try {
            Event<R> event = next();
            if (event instanceof Event.Failed<R> failed) {
                throw failed.cause();
            }
            response.setContentType("text/event-stream;charset=UTF-8");
            response.setHeader("Cache-Control", "no-store");
            OutputStream out = response.getOutputStream();
            for (Map<String, @Nullable Object> choice : form.opening()) {
                send(out, chunk(List.of(choice)));
            }
            while (event == null || write(event, out)) {
                if (event == null) {
                    out.write(": waiting\n\n".getBytes(StandardCharsets.UTF_8));
                    out.flush();
                }
                event = next();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new PlatformException(ErrorCode.DRAINING, "The service is shutting down", e);
        } catch (IOException e) {
            // The client has gone: nobody is left to be told.
        } finally {
            ended = true;
            events.clear();
            cancellation.cancel(); // without effect on what is complete
        }
    }

    /** The next event, or null where none comes for long. */
    private @Nullable Event<R> next() throws InterruptedException {
        return events.poll(heartbeat.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void produce(Cancellation cancellation, Producer<R> producer) {
        Event<R> last;
        try {
            last = new Event.Done<>(producer.run(delta -> add(delta, cancellation), cancellation));
        } catch (RuntimeException e) {
            last = new Event.Failed<>(e);
        }
        try {
            events.put(last);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Never waits. What comes after a piece that found no room is left out, so that what is sent has no holes. */
    private void add(Delta delta, Cancellation cancellation) {
        if (full || ended) {
            return;
        }
        if (!events.offer(new Event.Piece<>(delta))) {
            full = true;
            LOG.warn("a client reads its stream too slowly: the generation is cancelled");
            cancellation.cancel();
        }
    }

    /** Writes an event; false after the last. */
    private boolean write(Event<R> event, OutputStream out) throws IOException {
        switch (event) {
            case Event.Piece<R> piece -> {
                send(out, chunk(List.of(form.piece(piece.delta()))));
                return true;
            }
            case Event.Done<R> done -> {
                List<Map<String, @Nullable Object>> closing = form.closing(done.answer());
                for (int i = 0; i < closing.size(); i++) {
                    Map<String, Object> chunk = chunk(List.of(closing.get(i)));
                    if (i == closing.size() - 1) {
                        chunk.putAll(form.extensions(done.answer()));
                    }
                    send(out, chunk);
                }
                if (withUsage) {
                    Map<String, Object> last = chunk(List.of());
                    last.putAll(form.usage(done.answer()));
                    send(out, last);
                }
                out.write("data: [DONE]\n\n".getBytes(StandardCharsets.UTF_8));
                out.flush();
                return false;
            }
            case Event.Failed<R> failed -> {
                PlatformException cause = failed.cause() instanceof PlatformException known
                        ? known
                        : new PlatformException(ErrorCode.INTERNAL, "The request failed inside the platform");
                if (cause.code() == ErrorCode.INTERNAL) {
                    LOG.error("a stream failed", failed.cause());
                }
                send(
                        out,
                        Map.of(
                                "error",
                                OpenAiError.of(cause.code(), String.valueOf(cause.getMessage()), cause.errors())));
                return false;
            }
        }
    }

    private Map<String, Object> chunk(List<Map<String, @Nullable Object>> choices) {
        Map<String, Object> chunk = new LinkedHashMap<>(head);
        chunk.put("choices", choices);
        return chunk;
    }

    private static void send(OutputStream out, Object data) throws IOException {
        out.write(("data: " + Json.write(data) + "\n\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }
}
