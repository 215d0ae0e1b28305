package org.harnesslearning.solver.inference;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.web.Problem;
import org.jspecify.annotations.Nullable;

/**
 * Streams one completion as server-sent events, {@code data: [DONE]} last. A comment every 15 seconds keeps the connection
 * open; a write that fails cancels the generation. What fails before the first text is an ordinary error answer.
 */
final class ChatStream {
    private static final long HEARTBEAT_SECONDS = 15;

    /** Runs the call, counted in the metrics. */
    interface Runner {
        ChatResponse run(ModelBackend backend, ChatCall call, DeltaSink sink, Cancellation cancellation);
    }

    private sealed interface Event {
        record Delta(int choice, String text) implements Event {}

        record Done(ChatResponse response) implements Event {}

        record Failed(RuntimeException cause) implements Event {}
    }

    private final ModelBackend backend;
    private final ChatCall call;
    private final String id;
    private final boolean withUsage;
    private final Runner runner;
    private final long created;
    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();

    ChatStream(ModelBackend backend, ChatCall call, String id, long created, boolean withUsage, Runner runner) {
        this.backend = backend;
        this.call = call;
        this.id = id;
        this.created = created;
        this.withUsage = withUsage;
        this.runner = runner;
    }

    void writeTo(HttpServletResponse response) throws IOException {
        Cancellation cancellation = new Cancellation();
        Thread worker = Thread.ofVirtual().name("chat-stream").start(() -> generate(cancellation));
        try {
            Event first = events.take();
            if (first instanceof Event.Failed failed) {
                throw failed.cause();
            }
            response.setContentType("text/event-stream;charset=UTF-8");
            response.setHeader("Cache-Control", "no-store");
            OutputStream out = response.getOutputStream();
            for (int i = 0; i < call.n(); i++) {
                Map<String, Object> opening = new LinkedHashMap<>();
                opening.put("role", "assistant");
                opening.put("content", "");
                send(out, chunk(List.of(choice(i, opening, null))));
            }
            for (Event event = first; event == null || write(event, out); ) {
                event = events.poll(HEARTBEAT_SECONDS, TimeUnit.SECONDS);
                if (event == null) {
                    out.write(": waiting\n\n".getBytes(StandardCharsets.UTF_8));
                    out.flush();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new PlatformException(ErrorCode.DRAINING, "The service is shutting down", e);
        } catch (IOException e) {
            // The client has gone: nobody is left to be told.
            cancellation.cancel();
        } finally {
            if (worker.isAlive()) {
                cancellation.cancel();
            }
        }
    }

    private void generate(Cancellation cancellation) {
        try {
            ChatResponse response = runner.run(
                    backend, call, (choice, text) -> events.add(new Event.Delta(choice, text)), cancellation);
            events.add(new Event.Done(response));
        } catch (RuntimeException e) {
            events.add(new Event.Failed(e));
        }
    }

    /** Writes an event; false after the last. */
    private boolean write(Event event, OutputStream out) throws IOException {
        switch (event) {
            case Event.Delta delta -> {
                send(out, chunk(List.of(choice(delta.choice(), Map.of("content", delta.text()), null))));
                return true;
            }
            case Event.Done done -> {
                for (ChatResponse.Choice choice : done.response().choices()) {
                    send(out, chunk(List.of(choice(choice.index(), Map.of(), choice.finishReason()))));
                }
                if (withUsage) {
                    Map<String, Object> last = chunk(List.of());
                    last.put("usage", done.response().usage());
                    last.put("timings", done.response().timings());
                    send(out, last);
                }
                out.write("data: [DONE]\n\n".getBytes(StandardCharsets.UTF_8));
                out.flush();
                return false;
            }
            case Event.Failed failed -> {
                PlatformException cause = failed.cause() instanceof PlatformException known
                        ? known
                        : new PlatformException(ErrorCode.INTERNAL, "The request failed inside the platform");
                Problem problem = Problem.of(cause.code(), String.valueOf(cause.getMessage()), null, cause.errors());
                send(out, Map.of("error", problem));
                return false;
            }
        }
    }

    private Map<String, Object> chunk(List<Object> choices) {
        Map<String, Object> chunk = new LinkedHashMap<>();
        chunk.put("id", id);
        chunk.put("object", "chat.completion.chunk");
        chunk.put("created", created);
        chunk.put("model", call.model());
        chunk.put("choices", choices);
        return chunk;
    }

    private static Map<String, @Nullable Object> choice(
            int index, Map<String, Object> delta, @Nullable String finishReason) {
        Map<String, @Nullable Object> choice = new LinkedHashMap<>();
        choice.put("index", index);
        choice.put("delta", delta);
        choice.put("finish_reason", finishReason);
        return choice;
    }

    private static void send(OutputStream out, Object data) throws IOException {
        out.write(("data: " + Json.write(data) + "\n\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }
}
