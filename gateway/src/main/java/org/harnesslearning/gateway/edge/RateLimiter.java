package org.harnesslearning.gateway.edge;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.LongSupplier;
import org.springframework.stereotype.Component;

/** A token bucket for each key. Counted in this process: n replicas let through n times as much. */
@Component
final class RateLimiter {
    private static final double NANOS = 1e9;

    private final LongSupplier nanoTime;
    private final ConcurrentMap<String, Bucket> buckets = new ConcurrentHashMap<>();

    /** @param nanoTime a clock that never runs backwards, in nanoseconds */
    RateLimiter(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /**
     * Takes one call of a key.
     *
     * @param perSecond calls a second that the key may make in the long run
     * @param burst most calls at once after a rest
     * @return 0 when it may go on, else the whole seconds to wait
     */
    int take(String keyId, double perSecond, int burst) {
        return buckets.computeIfAbsent(keyId, id -> new Bucket(burst)).take(perSecond, burst);
    }

    private final class Bucket {
        private double tokens;
        private long filledAt = nanoTime.getAsLong();

        Bucket(int burst) {
            tokens = burst;
        }

        synchronized int take(double perSecond, int burst) {
            long now = nanoTime.getAsLong();
            tokens = Math.min(burst, tokens + (now - filledAt) / NANOS * perSecond);
            filledAt = now;
            if (tokens >= 1) {
                tokens -= 1;
                return 0;
            }
            return Math.max(1, (int) Math.ceil((1 - tokens) / perSecond));
        }
    }
}
