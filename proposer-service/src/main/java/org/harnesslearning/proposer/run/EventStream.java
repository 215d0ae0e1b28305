package org.harnesslearning.proposer.run;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.run.RunEvent;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.http.MediaType;
import org.springframework.stereotype.Component;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

/**
 * Streams a run's events from the store, so that any replica serves any run and a stream resumed with
 * {@code Last-Event-ID} misses nothing. A comment line is sent as heartbeat; the stream ends after {@code finished}.
 */
@Component
public class EventStream {
    private static final Logger LOG = LoggerFactory.getLogger(EventStream.class);
    private static final int BATCH = 500;
    private static final MediaType TEXT = new MediaType("text", "plain", StandardCharsets.UTF_8);

    private final RunServices services;
    private volatile boolean closing;

    EventStream(RunServices services) {
        this.services = services;
    }

    @EventListener(ContextClosedEvent.class)
    void close() {
        closing = true;
    }

    /**
     * Opens a stream.
     *
     * @param lastEventId header of that name; anything but a number starts from the beginning
     */
    public SseEmitter open(String run, @Nullable String lastEventId) {
        long after = lastEventId != null && lastEventId.strip().matches("\\d{1,18}")
                ? Long.parseLong(lastEventId.strip())
                : 0;
        SseEmitter emitter = new SseEmitter(0L);
        Thread.ofVirtual().name("events-" + run).start(() -> {
            try {
                stream(run, after, emitter);
                emitter.complete();
            } catch (IOException | IllegalStateException e) {
                LOG.debug("event stream of {} ended by the client", run);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (RuntimeException e) {
                emitter.completeWithError(e);
            }
        });
        return emitter;
    }

    private void stream(String run, long start, SseEmitter emitter) throws IOException, InterruptedException {
        long after = start;
        long quietSince = System.nanoTime();
        emitter.send(SseEmitter.event().comment("events of " + run));
        while (!closing) {
            List<RunEvent> events = services.runs().events(run, after, BATCH);
            for (RunEvent event : events) {
                emitter.send(SseEmitter.event()
                        .id(Long.toString(event.id()))
                        .name(event.type())
                        .data(Json.write(event.data()), TEXT));
                after = event.id();
                quietSince = System.nanoTime();
                if (event.type().equals(RunEvents.FINISHED)) {
                    return;
                }
            }
            if (events.isEmpty()) {
                boolean gone = services.runs().find(run).isEmpty();
                boolean over = services.runs()
                        .find(run)
                        .map(row -> row.state().terminal())
                        .orElse(true);
                // A resumed stream whose last event was "finished" has nothing to wait for.
                if (gone || (over && services.runs().events(run, after, 1).isEmpty())) {
                    return;
                }
                if (System.nanoTime() - quietSince
                        >= services.properties().heartbeat().toNanos()) {
                    emitter.send(SseEmitter.event().comment("heartbeat"));
                    quietSince = System.nanoTime();
                }
                Thread.sleep(services.properties().eventPoll());
            }
        }
    }
}
