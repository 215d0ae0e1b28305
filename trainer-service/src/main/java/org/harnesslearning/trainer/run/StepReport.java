package org.harnesslearning.trainer.run;

import java.util.Map;

/**
 * What one step did. A metric that has no value in this step is left out; none is NaN or infinite.
 *
 * @param step 1 for the first; grows by one
 * @param metrics by the names below, or further ones in lower case with underscores
 * @param counts numbers of things in this step alone, such as {@code groups_dropped}
 */
public record StepReport(long step, Map<String, Double> metrics, Map<String, Long> counts) {
    /** Mean over the step's trained tokens. */
    public static final String LOSS = "loss";
    /** On examples that are never trained on. */
    public static final String HELD_OUT_LOSS = "held_out_loss";
    /** Mean reward of the step's samples, without bonuses. */
    public static final String REWARD = "reward";
    /** Mean reward of the step's samples, with bonuses: what the advantages come from. */
    public static final String REWARD_WITH_BONUS = "reward_with_bonus";
    /** Share of samples that were scored, 0 to 1. */
    public static final String VALID_RATE = "valid_rate";
    /** Share of groups whose rewards are all equal, 0 to 1. */
    public static final String ZERO_SPREAD_SHARE = "zero_spread_share";
    /** Mean per token from the reference. */
    public static final String KL = "kl";
    /** Share of tokens whose ratio was clipped, 0 to 1. */
    public static final String CLIP_SHARE = "clip_share";
    /** Mean per token, in nats. */
    public static final String ENTROPY = "entropy";
    /** Norm of all gradients before clipping. */
    public static final String GRAD_NORM = "grad_norm";
    /** Of this step. */
    public static final String LEARNING_RATE = "learning_rate";
    /** Tokens forward and backward a second of training, sampling left out. */
    public static final String TOKENS_PER_SECOND = "tokens_per_second";

    /** Tokens that carried loss. */
    public static final String TOKENS = "tokens";

    public StepReport {
        metrics = Map.copyOf(metrics);
        counts = Map.copyOf(counts);
        metrics.forEach((name, value) -> {
            if (!Double.isFinite(value)) {
                throw new IllegalArgumentException("metric " + name + " of step " + step + " is " + value);
            }
        });
    }
}
