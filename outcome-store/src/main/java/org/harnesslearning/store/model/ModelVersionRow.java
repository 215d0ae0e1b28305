package org.harnesslearning.store.model;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A stored adapter, without its weights.
 *
 * @param id {@code sha256:…} of both files, as llm-runtime's {@code LoraAdapter} hashes them
 * @param base name of the model that it belongs to
 * @param baseHash hash of that model's weights
 * @param kind {@code sft}, {@code grpo}, {@code multistep}
 * @param parent version that its training began from
 * @param trainingRun run that made it
 * @param bytes of both files
 */
public record ModelVersionRow(
        String id,
        String base,
        String baseHash,
        String kind,
        @Nullable String parent,
        @Nullable String trainingRun,
        long step,
        long bytes,
        Instant createdAt) {}
