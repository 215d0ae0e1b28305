package org.harnesslearning.store.webhook;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A receiver of events.
 *
 * @param id such as {@code whk_…}
 * @param events types that it is told of
 * @param disabledAt when the receiver said that it is gone; null while it is served
 */
public record Webhook(
        String id,
        String url,
        List<String> events,
        @Nullable String description,
        @Nullable String createdBy,
        Instant createdAt,
        @Nullable Instant disabledAt) {
    public Webhook {
        events = List.copyOf(events);
    }
}
