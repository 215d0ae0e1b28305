package org.harnesslearning.trainer.registry;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A stored adapter.
 *
 * @param id {@code sha256:…} of config and weights: equal adapters are one version
 * @param base model that it belongs to, by name
 * @param baseHash hash of that model's weights
 * @param parent version that the training began from, where it did not begin from the base
 * @param run training run that made it, null for an uploaded one
 * @param step of that run
 * @param bytes of config and weights together
 */
public record ModelVersion(
        String id,
        String base,
        String baseHash,
        String kind,
        @Nullable String parent,
        @Nullable String run,
        long step,
        long bytes,
        Instant createdAt) {}
