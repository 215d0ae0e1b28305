package org.harnesslearning.store.webhook;

import com.fasterxml.jackson.annotation.JsonValue;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * An event on its way to one receiver.
 *
 * @param id such as {@code whd_…}
 * @param event id of the event, the same in a redelivery
 * @param payload JSON text as it is signed and sent
 * @param nextAt time of the next try; null when there is none
 */
public record Delivery(
        String id,
        String webhook,
        String event,
        String type,
        @Nullable String run,
        String payload,
        State state,
        int attempts,
        @Nullable Instant nextAt,
        Instant createdAt,
        @Nullable Instant endedAt) {
    /** Where it stands. */
    public enum State {
        PENDING,
        DELIVERED,
        FAILED;

        /** Name in JSON and in the table, lower case. */
        @JsonValue
        public String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * One try.
     *
     * @param status HTTP status; null when there was no answer
     * @param error why there was none
     */
    public record Attempt(
            int attempt,
            Instant at,
            @Nullable Integer status,
            @Nullable String error,
            long ms) {}

    /** A delivery with its tries, oldest first. */
    public record Logged(Delivery delivery, List<Attempt> tries) {
        public Logged {
            tries = List.copyOf(tries);
        }
    }
}
