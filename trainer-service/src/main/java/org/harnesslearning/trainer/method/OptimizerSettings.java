package org.harnesslearning.trainer.method;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.Locale;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.trainer.optimizer.AdamW;
import org.harnesslearning.trainer.optimizer.LearningRate;
import org.jspecify.annotations.Nullable;

/**
 * AdamW and its learning rate.
 *
 * @param learningRate the highest
 * @param schedule {@code constant}, {@code cosine} or {@code linear}
 * @param warmupShare part of all steps in which the rate rises, 0 to 1
 * @param maxGradNorm gradients are scaled down to this norm
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record OptimizerSettings(
        double learningRate,
        String schedule,
        double warmupShare,
        double weightDecay,
        double beta1,
        double beta2,
        double epsilon,
        double maxGradNorm) {
    /**
     * Reads the field {@code optimizer}.
     *
     * @param defaults what counts where a field is absent
     */
    public static OptimizerSettings read(@Nullable Fields fields, OptimizerSettings defaults) {
        if (fields == null) {
            return defaults;
        }
        OptimizerSettings settings = new OptimizerSettings(
                fields.number("learning_rate", defaults.learningRate, 0, 1),
                fields.choice(
                                "schedule",
                                LearningRate.Schedule.class,
                                LearningRate.Schedule.valueOf(defaults.schedule.toUpperCase(Locale.ROOT)))
                        .name()
                        .toLowerCase(Locale.ROOT),
                fields.number("warmup_share", defaults.warmupShare, 0, 1),
                fields.number("weight_decay", defaults.weightDecay, 0, 1),
                fields.number("beta1", defaults.beta1, 0, 0.9999),
                fields.number("beta2", defaults.beta2, 0, 0.99999),
                fields.number("epsilon", defaults.epsilon, 1e-12, 1e-3),
                fields.number("max_grad_norm", defaults.maxGradNorm, 1e-6, 1e6));
        fields.end();
        return settings;
    }

    /** In the engine's form. */
    public AdamW.Settings adamW() {
        return new AdamW.Settings(beta1, beta2, epsilon, weightDecay, maxGradNorm);
    }

    /** The rate over a run of so many steps. */
    public LearningRate rate(long steps) {
        return new LearningRate(
                LearningRate.Schedule.valueOf(schedule.toUpperCase(Locale.ROOT)),
                learningRate,
                0,
                Math.round(warmupShare * steps),
                steps);
    }
}
