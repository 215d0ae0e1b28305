package org.harnesslearning.contracts.web;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.MediaType;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

/**
 * Streams events from a store, so that any replica serves any run and a stream resumed with {@code Last-Event-ID} misses
 * nothing. A comment line is sent as heartbeat; the stream ends after the last event.
 */
public final class StoredEvents {
    private static final Logger LOG = LoggerFactory.getLogger(StoredEvents.class);
    private static final int BATCH = 500;
    private static final MediaType TEXT = new MediaType("text", "plain", StandardCharsets.UTF_8);

    private final Duration poll;
    private final Duration heartbeat;
    private volatile boolean closing;

    /**
     * Streams that look for new events every {@code poll}.
     *
     * @param heartbeat time between heartbeat comments of a quiet stream
     */
    public StoredEvents(Duration poll, Duration heartbeat) {
        this.poll = poll;
        this.heartbeat = heartbeat;
    }

    /**
     * One event.
     *
     * @param data JSON
     * @param last whether the stream ends after it
     */
    public record Event(long id, String type, String data, boolean last) {}

    /** Where the events of one stream are. */
    public interface Source {
        /** Events after {@code after}, in order. */
        List<Event> after(long after, int limit);

        /** Whether no further event comes. */
        boolean over();
    }

    /** Ends all streams at their next look. */
    public void close() {
        closing = true;
    }

    /**
     * Opens a stream.
     *
     * @param name of what the events belong to
     * @param lastEventId header of that name; anything but a number starts from the beginning
     */
    public SseEmitter open(String name, @Nullable String lastEventId, Source source) {
        long after = lastEventId != null && lastEventId.strip().matches("\\d{1,18}")
                ? Long.parseLong(lastEventId.strip())
                : 0;
        SseEmitter emitter = new SseEmitter(0L);
        Thread.ofVirtual().name("events-" + name).start(() -> {
            try {
                stream(name, after, emitter, source);
                emitter.complete();
            } catch (IOException | IllegalStateException e) {
                LOG.debug("event stream of {} ended by the client", name);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (RuntimeException e) {
                emitter.completeWithError(e);
            }
        });
        return emitter;
    }

    private void stream(String name, long start, SseEmitter emitter, Source source)
            throws IOException, InterruptedException {
        long after = start;
        long quietSince = System.nanoTime();
        emitter.send(SseEmitter.event().comment("events of " + name));
        while (!closing) {
            List<Event> events = source.after(after, BATCH);
            for (Event event : events) {
                emitter.send(SseEmitter.event()
                        .id(Long.toString(event.id()))
                        .name(event.type())
                        .data(event.data(), TEXT));
                after = event.id();
                quietSince = System.nanoTime();
                if (event.last()) {
                    return;
                }
            }
            if (events.isEmpty()) {
                // A resumed stream whose last event was the last of all has nothing to wait for.
                if (source.over() && source.after(after, 1).isEmpty()) {
                    return;
                }
                if (System.nanoTime() - quietSince >= heartbeat.toNanos()) {
                    emitter.send(SseEmitter.event().comment("heartbeat"));
                    quietSince = System.nanoTime();
                }
                Thread.sleep(poll);
            }
        }
    }
}
