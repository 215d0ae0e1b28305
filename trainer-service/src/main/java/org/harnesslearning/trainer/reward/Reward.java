package org.harnesslearning.trainer.reward;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;

/** What an outcome is worth; either a number or the reason why there is none. */
public sealed interface Reward {
    /**
     * A reward.
     *
     * @param plain without any bonus
     * @param withBonus with what validity earns; equal in delta modes
     * @param valid whether the edited harness was scored
     */
    record Given(double plain, double withBonus, boolean valid) implements Reward {
        public Given {
            if (!Double.isFinite(plain) || !Double.isFinite(withBonus)) {
                throw new IllegalArgumentException("a reward is a finite number, not " + plain + " or " + withBonus);
            }
        }
    }

    /** There is none: the sample leaves its group and is counted. */
    record Missing(Reason reason, String detail) implements Reward {}

    /** Why a reward is missing. */
    enum Reason {
        /** The platform failed; never a reward, also not 0. */
        INFRA_FAILURE,
        /** A budget or a cancellation cut it off. */
        NOT_FINISHED,
        /** No outcome was stored. */
        NO_OUTCOME,
        /** Scored without a score. */
        NO_SCORE,
        /** The score is no number or lies outside 0 to 1. */
        BAD_SCORE,
        /** A delta mode without the parent's score. */
        NO_BASELINE;

        /** Name in JSON and in counts, lower case. */
        @JsonValue
        public String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
