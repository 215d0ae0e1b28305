package org.harnesslearning.store.key;

import org.jspecify.annotations.Nullable;

/**
 * What one key may do, where it differs from what every key may.
 *
 * @param ratePerSecond calls a second in the long run
 * @param rateBurst most calls at once after a rest
 * @param maxBodyBytes most bytes of a request's body
 */
public record KeyLimits(
        @Nullable Double ratePerSecond,
        @Nullable Integer rateBurst,
        @Nullable Long maxBodyBytes) {
    /** Of a key like every other. */
    public static final KeyLimits NONE = new KeyLimits(null, null, null);
}
