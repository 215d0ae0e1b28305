package org.harnesslearning.gateway.page;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** A webhook as the API answers it; {@code secret} in the answer to its making only. */
record WebhookAnswer(
        String id,
        String url,
        List<String> events,
        @Nullable String description,
        Instant createdAt,
        @Nullable Instant disabledAt,
        @Nullable String secret) {
    /** Answer of the list. */
    record Listed(List<WebhookAnswer> data) {}

    /** Answer of the delivery log. */
    record Deliveries(List<Delivery> data, @Nullable String nextCursor) {}

    record Delivery(
            String id,
            String event,
            String type,
            String state,
            JsonNode payload,
            List<Attempt> attempts,
            @Nullable Instant nextAt,
            Instant createdAt,
            @Nullable Instant endedAt) {
        /** What was sent, for people. */
        public String payloadText() {
            return payload.toPrettyString();
        }
    }

    record Attempt(
            int attempt,
            Instant at,
            @Nullable Integer status,
            @Nullable String error,
            long ms) {}
}
