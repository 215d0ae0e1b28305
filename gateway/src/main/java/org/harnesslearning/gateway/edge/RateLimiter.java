package org.harnesslearning.gateway.edge;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.LongSupplier;
import org.springframework.stereotype.Component;

/** A token bucket for each key. Counted in this process: n replicas let through n times as much. */
@Component
final class RateLimiter {
    private static final double NANOS = 1e9;

    private final RateSettings settings;
    private final LongSupplier nanoTime;
    private final ConcurrentMap<String, Bucket> buckets = new ConcurrentHashMap<>();

    /** @param nanoTime a clock that never runs backwards, in nanoseconds */
    RateLimiter(RateSettings settings, LongSupplier nanoTime) {
        this.settings = settings;
        this.nanoTime = nanoTime;
    }

    /** Takes one call of a key; 0 when it may go on, else the whole seconds to wait. */
    int take(String keyId) {
        return buckets.computeIfAbsent(keyId, id -> new Bucket()).take();
    }

    private final class Bucket {
        private double tokens = settings.burst();
        private long filledAt = nanoTime.getAsLong();

        synchronized int take() {
            long now = nanoTime.getAsLong();
            tokens = Math.min(settings.burst(), tokens + (now - filledAt) / NANOS * settings.perSecond());
            filledAt = now;
            if (tokens >= 1) {
                tokens -= 1;
                return 0;
            }
            return Math.max(1, (int) Math.ceil((1 - tokens) / settings.perSecond()));
        }
    }
}
