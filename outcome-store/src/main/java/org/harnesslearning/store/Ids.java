package org.harnesslearning.store;

import java.time.Clock;
import java.util.random.RandomGenerator;

/**
 * Makes ids such as {@code adp_01k…}: a prefix, then 48 bits of milliseconds and 80 random bits in Crockford's base 32
 * (the layout of a ULID, lower case), so that ids sort by time. Ids of one maker grow strictly.
 */
public final class Ids {
    private static final String DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
    private static final int RANDOM_DIGITS = 16;

    private final Clock clock;
    private final RandomGenerator random;
    private long lastMs = -1;
    private final int[] tail = new int[RANDOM_DIGITS];

    public Ids(Clock clock, RandomGenerator random) {
        this.clock = clock;
        this.random = random;
    }

    /**
     * A new id.
     *
     * @param prefix such as {@code adp}, without the underscore
     */
    public synchronized String next(String prefix) {
        long now = clock.millis();
        if (now > lastMs) {
            lastMs = now;
            for (int i = 0; i < RANDOM_DIGITS; i++) {
                // The first digit stays low, so that counting up within a millisecond never overflows.
                tail[i] = random.nextInt(i == 0 ? 16 : 32);
            }
        } else {
            int i = RANDOM_DIGITS - 1;
            while (tail[i] == 31) {
                tail[i--] = 0;
            }
            tail[i]++;
        }
        StringBuilder id = new StringBuilder(prefix).append('_');
        for (int shift = 45; shift >= 0; shift -= 5) {
            id.append(DIGITS.charAt((int) (lastMs >>> shift) & 31));
        }
        for (int digit : tail) {
            id.append(DIGITS.charAt(digit));
        }
        return id.toString();
    }
}
