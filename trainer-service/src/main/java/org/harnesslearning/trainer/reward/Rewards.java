package org.harnesslearning.trainer.reward;

import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.jspecify.annotations.Nullable;

/**
 * The rule from outcomes to rewards.
 *
 * <p>{@code absolute}: the dev mean, {@code bonus} more when the edit applied and passed the static check and once more
 * when it was scored; an invalid edit has only the bonuses that it earned, {@code LEAK_SUSPECT} and {@code NO_CHANGE}
 * exactly 0. Delta modes: the edited harness' mean minus the parent's; an invalid edit 0; no bonus. So a harmful edit is
 * worse than an invalid one in the delta modes and better in {@code absolute}; in {@code improvement_dev}, the delta cut
 * off at 0, harmful, invalid and ineffective edits are worth the same. What the platform failed at has no reward.
 *
 * @param bonus of each of the two steps of validity, {@code absolute} only; 0 to 1
 */
public record Rewards(RewardMode mode, double bonus) {
    /** Bonus where the settings name none. */
    public static final double DEFAULT_BONUS = 0.05;

    public Rewards {
        if (!(bonus >= 0 && bonus <= 1)) {
            throw new IllegalArgumentException("a bonus lies from 0 to 1, not at " + bonus);
        }
    }

    /**
     * The reward of one sample.
     *
     * @param baseline the parent's mean on the same questions; delta modes only
     */
    public Reward of(Judged judged, @Nullable Double baseline) {
        if (mode.delta() && (baseline == null || !score(baseline))) {
            return new Reward.Missing(
                    Reward.Reason.NO_BASELINE, "the parent's score on the same questions is " + baseline);
        }
        return switch (judged) {
            case Judged.Scored(Double mean) -> {
                if (mean == null) {
                    yield new Reward.Missing(Reward.Reason.NO_SCORE, "it is scored and has no score");
                }
                if (!score(mean)) {
                    yield new Reward.Missing(Reward.Reason.BAD_SCORE, "its score is " + mean);
                }
                yield switch (mode) {
                    case ABSOLUTE -> new Reward.Given(mean, mean + bonus + bonus, true);
                    case DELTA_SAME_BATCH, DELTA_DEV, IMPROVEMENT_DEV -> {
                        double delta = baseline == null ? Double.NaN : mean - baseline;
                        double gain = mode == RewardMode.IMPROVEMENT_DEV ? Math.max(0, delta) : delta;
                        yield new Reward.Given(gain, gain, true);
                    }
                };
            }
            case Judged.Invalid(OutcomeCode code) ->
                new Reward.Given(
                        0,
                        switch (mode) {
                            case ABSOLUTE -> passedStatic(code) ? bonus : 0;
                            case DELTA_SAME_BATCH, DELTA_DEV, IMPROVEMENT_DEV -> 0;
                        },
                        false);
            case Judged.InfraFailure(OutcomeCode code) ->
                new Reward.Missing(Reward.Reason.INFRA_FAILURE, "the platform failed: " + code);
            case Judged.NotFinished() -> new Reward.Missing(Reward.Reason.NOT_FINISHED, "it was cut off");
            case Judged.Unjudged(String detail) -> new Reward.Missing(Reward.Reason.NO_OUTCOME, detail);
        };
    }

    private static boolean score(double value) {
        return value >= 0 && value <= 1;
    }

    /** Whether an edit with this code had applied and passed the static check, the lint included. */
    private static boolean passedStatic(OutcomeCode code) {
        return switch (code.stage()) {
            case PARSE, APPLY, STATIC -> false;
            case SMOKE, RUN -> true;
            case INFRA -> throw new IllegalArgumentException(code + " is no fault of an edit");
        };
    }
}
