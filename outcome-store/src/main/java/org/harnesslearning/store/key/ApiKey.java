package org.harnesslearning.store.key;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A key of the public API; the secret itself is not kept.
 *
 * @param id such as {@code key_…}
 * @param scope {@code read}, {@code run} or {@code admin}
 * @param hash SHA-256 of the secret, as {@code sha256:<hex>}
 * @param lastUsedAt last use, exact to about a minute
 * @param expiresAt when it stops working by itself, null for never
 * @param limits its own limits
 */
public record ApiKey(
        String id,
        String name,
        String scope,
        String hash,
        Instant createdAt,
        @Nullable Instant lastUsedAt,
        @Nullable Instant revokedAt,
        @Nullable Instant expiresAt,
        KeyLimits limits) {}
