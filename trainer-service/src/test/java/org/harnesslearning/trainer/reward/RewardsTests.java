package org.harnesslearning.trainer.reward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.outcome.OutcomeStage;
import org.harnesslearning.store.run.CandidateOutcome;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RewardsTests {
    private static final Rewards ABSOLUTE = new Rewards(RewardMode.ABSOLUTE, 0.05);
    private static final Rewards DELTA = new Rewards(RewardMode.DELTA_DEV, 0.05);

    @Test
    void a_scored_edit_earns_its_score_and_both_bonuses_and_both_values_are_kept() {
        Reward.Given reward = given(ABSOLUTE.of(new Judged.Scored(0.4), null));

        assertThat(reward.plain()).isEqualTo(0.4);
        assertThat(reward.withBonus()).isEqualTo(0.5, within(1e-12));
        assertThat(reward.valid()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(OutcomeCode.class)
    void an_invalid_edit_earns_only_the_bonus_of_the_stages_it_passed(OutcomeCode code) {
        if (code.stage() == OutcomeStage.INFRA) {
            return;
        }
        Reward.Given reward = given(ABSOLUTE.of(new Judged.Invalid(code), null));

        double earned = switch (code.stage()) {
            case PARSE, APPLY, STATIC -> 0;
            case SMOKE, RUN -> 0.05;
            case INFRA -> throw new AssertionError();
        };
        assertThat(reward.plain()).isZero();
        assertThat(reward.withBonus()).isEqualTo(earned);
        assertThat(reward.valid()).isFalse();
        assertThat(given(DELTA.of(new Judged.Invalid(code), 0.3)).withBonus()).isZero();
    }

    @Test
    void a_suspected_leak_and_an_edit_without_change_are_worth_exactly_nothing() {
        for (OutcomeCode code : new OutcomeCode[] {OutcomeCode.LEAK_SUSPECT, OutcomeCode.NO_CHANGE}) {
            assertThat(given(ABSOLUTE.of(new Judged.Invalid(code), null)).withBonus())
                    .isEqualTo(0.0);
        }
    }

    @Test
    void delta_modes_pay_the_gain_over_the_parent_and_no_bonus() {
        for (RewardMode mode : new RewardMode[] {RewardMode.DELTA_DEV, RewardMode.DELTA_SAME_BATCH}) {
            Reward.Given harmful = given(new Rewards(mode, 0.05).of(new Judged.Scored(0.25), 0.75));

            assertThat(harmful.plain()).isEqualTo(-0.5);
            assertThat(harmful.withBonus()).isEqualTo(-0.5);
        }
    }

    @Test
    void an_improvement_is_paid_and_harm_no_effect_and_no_validity_are_worth_the_same() {
        Rewards improvement = new Rewards(RewardMode.IMPROVEMENT_DEV, 0.05);

        assertThat(given(improvement.of(new Judged.Scored(0.75), 0.25)).withBonus())
                .isEqualTo(0.5);
        for (Judged judged : new Judged[] {
            new Judged.Scored(0.25), new Judged.Scored(0.0), new Judged.Invalid(OutcomeCode.SMOKE_ERROR)
        }) {
            Reward.Given reward = given(improvement.of(judged, 0.25));
            assertThat(reward.plain()).isZero();
            assertThat(reward.withBonus()).isZero();
        }
        assertThat(given(improvement.of(new Judged.Scored(0.0), 0.25)).valid()).isTrue();
        assertThat(missing(improvement.of(new Judged.Scored(0.5), null))).isEqualTo(Reward.Reason.NO_BASELINE);
    }

    @ParameterizedTest
    @EnumSource(RewardMode.class)
    void what_the_platform_failed_at_has_no_reward_in_any_mode(RewardMode mode) {
        Rewards rewards = new Rewards(mode, 0.05);

        for (OutcomeCode code : OutcomeCode.values()) {
            if (code.stage() == OutcomeStage.INFRA) {
                assertThat(missing(rewards.of(Judged.of(CandidateOutcome.INFRA_FAILURE, code, 0.9), 0.1)))
                        .isEqualTo(Reward.Reason.INFRA_FAILURE);
            }
        }
        assertThat(missing(rewards.of(new Judged.NotFinished(), 0.1))).isEqualTo(Reward.Reason.NOT_FINISHED);
        assertThat(missing(rewards.of(Judged.of(null, null, null), 0.1))).isEqualTo(Reward.Reason.NO_OUTCOME);
        assertThat(missing(rewards.of(Judged.of(CandidateOutcome.INVALID, null, null), 0.1)))
                .isEqualTo(Reward.Reason.NO_OUTCOME);
        assertThat(missing(rewards.of(Judged.of(CandidateOutcome.INVALID, OutcomeCode.SANDBOX_FAULT, null), 0.1)))
                .isEqualTo(Reward.Reason.NO_OUTCOME);
    }

    @Test
    void a_missing_or_impossible_score_is_no_zero() {
        assertThat(missing(ABSOLUTE.of(new Judged.Scored(null), null))).isEqualTo(Reward.Reason.NO_SCORE);
        for (double score : new double[] {Double.NaN, Double.POSITIVE_INFINITY, -0.01, 1.01}) {
            assertThat(missing(ABSOLUTE.of(new Judged.Scored(score), null))).isEqualTo(Reward.Reason.BAD_SCORE);
        }
        assertThat(given(ABSOLUTE.of(new Judged.Scored(0.0), null)).plain()).isZero();
    }

    @Test
    void a_delta_without_the_parents_score_is_no_reward_for_any_member() {
        for (Double baseline : new Double[] {null, Double.NaN, 2.0}) {
            assertThat(missing(DELTA.of(new Judged.Scored(0.5), baseline))).isEqualTo(Reward.Reason.NO_BASELINE);
            assertThat(missing(DELTA.of(new Judged.Invalid(OutcomeCode.NO_BLOCK), baseline)))
                    .isEqualTo(Reward.Reason.NO_BASELINE);
        }
    }

    @Test
    void a_bonus_outside_of_zero_to_one_is_refused() {
        assertThatThrownBy(() -> new Rewards(RewardMode.ABSOLUTE, -0.1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Rewards(RewardMode.ABSOLUTE, Double.NaN))
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static Reward.Given given(Reward reward) {
        assertThat(reward).isInstanceOf(Reward.Given.class);
        return (Reward.Given) reward;
    }

    private static Reward.Reason missing(Reward reward) {
        assertThat(reward).isInstanceOf(Reward.Missing.class);
        return ((Reward.Missing) reward).reason();
    }
}
