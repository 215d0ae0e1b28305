package org.harnesslearning.proposer.run;

import java.util.List;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.web.StoredEvents;
import org.jspecify.annotations.Nullable;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.stereotype.Component;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

/** Streams a run's events from the store; the stream ends after {@code finished}. */
@Component
public class EventStream {
    private final RunServices services;
    private final StoredEvents streams;

    EventStream(RunServices services) {
        this.services = services;
        this.streams = new StoredEvents(
                services.properties().eventPoll(), services.properties().heartbeat());
    }

    @EventListener(ContextClosedEvent.class)
    void close() {
        streams.close();
    }

    /**
     * Opens a stream.
     *
     * @param lastEventId header of that name; anything but a number starts from the beginning
     */
    public SseEmitter open(String run, @Nullable String lastEventId) {
        return streams.open(run, lastEventId, new StoredEvents.Source() {
            @Override
            public List<StoredEvents.Event> after(long after, int limit) {
                return services.runs().events(run, after, limit).stream()
                        .map(event -> new StoredEvents.Event(
                                event.id(),
                                event.type(),
                                Json.write(event.data()),
                                event.type().equals(RunEvents.FINISHED)))
                        .toList();
            }

            @Override
            public boolean over() {
                return services.runs()
                        .find(run)
                        .map(row -> row.state().terminal())
                        .orElse(true);
            }
        });
    }
}
