package org.harnesslearning.trainer.method;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.Locale;
import org.harnesslearning.contracts.request.Fields;
import org.jspecify.annotations.Nullable;

/**
 * How the engine computes.
 *
 * @param precision {@code fp32} or {@code bf16}; null: bf16 on GPUs, fp32 on processors
 * @param gradientCheckpointing keeps a fraction of the memory for a third more work
 * @param tokensPerMicroBatch tokens that are computed at once
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record EngineSettings(@Nullable String precision, boolean gradientCheckpointing, int tokensPerMicroBatch) {
    private enum Name {
        FP32,
        BF16
    }

    /** Reads the field {@code engine}. */
    public static EngineSettings read(@Nullable Fields fields) {
        if (fields == null) {
            return new EngineSettings(null, true, 8192);
        }
        String precision = fields.has("precision")
                ? fields.choice("precision", Name.class, Name.FP32).name().toLowerCase(Locale.ROOT)
                : null;
        EngineSettings settings = new EngineSettings(precision, fields.bool("gradient_checkpointing", true), (int)
                fields.integer("tokens_per_micro_batch", 8192, 1, 1 << 24));
        fields.end();
        return settings;
    }
}
