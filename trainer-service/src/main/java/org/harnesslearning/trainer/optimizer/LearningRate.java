package org.harnesslearning.trainer.optimizer;

/**
 * A learning rate over the steps of a run.
 *
 * <p>It rises from {@code peak / warmupSteps} to the peak in the warm-up, and then stays, or falls to the floor, which it
 * reaches with step {@code totalSteps}.
 *
 * @param schedule its form after the warm-up
 * @param peak highest value
 * @param floor value from {@code totalSteps} on; a constant rate has none
 * @param warmupSteps steps before the peak is reached
 * @param totalSteps steps of the whole run; a constant rate ignores it
 */
public record LearningRate(Schedule schedule, double peak, double floor, long warmupSteps, long totalSteps) {

    /** Forms. */
    public enum Schedule {
        CONSTANT,
        /** Half a cosine wave. */
        COSINE,
        LINEAR
    }

    /** Checks. */
    public LearningRate {
        if (!(peak >= 0) || Double.isInfinite(peak) || !(floor >= 0 && floor <= peak)) {
            throw new IllegalArgumentException("the learning rate goes from " + peak + " to " + floor
                    + "; neither is negative, the first is higher");
        }
        if (warmupSteps < 0 || schedule != Schedule.CONSTANT && totalSteps < Math.max(1, warmupSteps)) {
            throw new IllegalArgumentException(
                    warmupSteps + " steps of warm-up do not fit into a run of " + totalSteps + " steps");
        }
    }

    /** Always the same. */
    public static LearningRate constant(double rate) {
        return new LearningRate(Schedule.CONSTANT, rate, 0, 0, 0);
    }

    /** The rate of a step, the first being 0. */
    public double at(long step) {
        if (step < 0) {
            throw new IllegalArgumentException("step " + step + " is negative");
        }
        if (step < warmupSteps) {
            return peak * (step + 1) / warmupSteps;
        }
        double done =
                totalSteps > warmupSteps ? Math.min(1, (double) (step - warmupSteps) / (totalSteps - warmupSteps)) : 1;
        return switch (schedule) {
            case CONSTANT -> peak;
            case COSINE -> floor + (peak - floor) * (1 + Math.cos(Math.PI * done)) / 2;
            case LINEAR -> peak + (floor - peak) * done;
        };
    }
}
