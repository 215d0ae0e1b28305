package org.harnesslearning.trainer.grpo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.Random;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.trainer.reward.Judged;
import org.harnesslearning.trainer.reward.Reward;
import org.harnesslearning.trainer.reward.RewardMode;
import org.harnesslearning.trainer.reward.Rewards;
import org.junit.jupiter.api.Test;

/** Group admission, and the identities that normalisation in a group must keep. */
class GroupRuleTests {
    private static final GroupRule STD = new GroupRule(Normalization.STD, 1e-6, 2);
    private static final GroupRule MEAN = new GroupRule(Normalization.MEAN, 1e-6, 2);

    @Test
    void advantages_have_mean_zero_and_under_std_the_sample_deviation_one() {
        double[] advantages = admitted(STD, 0.1, 0.4, 0.9, 0.2);

        assertThat(Arrays.stream(advantages).sum()).isEqualTo(0, within(1e-12));
        assertThat(Math.sqrt(Arrays.stream(advantages).map(a -> a * a).sum() / 3))
                .isEqualTo(1, within(1e-12));
        assertThat(admitted(MEAN, 0, 1)).containsExactly(-0.5, 0.5);
    }

    @Test
    void a_constant_added_to_all_rewards_changes_no_advantage() {
        Random random = new Random(1);
        for (int trial = 0; trial < 50; trial++) {
            double[] rewards = random.doubles(8).toArray();
            double constant = random.nextDouble() * 10 - 5;
            double[] shifted = Arrays.stream(rewards).map(r -> r + constant).toArray();

            assertThat(admitted(STD, shifted)).containsExactly(admitted(STD, rewards), within(1e-9));
            assertThat(admitted(MEAN, shifted)).containsExactly(admitted(MEAN, rewards), within(1e-9));
        }
    }

    @Test
    void a_bonus_for_valid_members_only_does_change_them() {
        double[] plain = admitted(STD, 0.5, 0.1, 0, 0);
        double[] withBonus = admitted(STD, 0.6, 0.2, 0, 0);

        assertThat(Math.abs(plain[1] - withBonus[1])).isGreaterThan(0.01);
    }

    @Test
    void a_positive_factor_changes_no_advantage_under_std_but_does_under_mean() {
        double[] rewards = {0.3, 0.7, 0.1};
        double[] tripled = {0.9, 2.1, 0.3};

        assertThat(admitted(STD, tripled)).containsExactly(admitted(STD, rewards), within(1e-9));
        assertThat(admitted(MEAN, tripled)[1]).isEqualTo(3 * admitted(MEAN, rewards)[1], within(1e-9));
    }

    @Test
    void a_member_without_reward_leaves_the_others_as_if_it_had_never_been() {
        double[] without = admitted(STD, 0.2, 0.8, 0.5);
        double[] with = admitted(STD, 0.2, Double.NaN, 0.8, 0.5);

        assertThat(with[1]).isNaN();
        assertThat(new double[] {with[0], with[2], with[3]}).containsExactly(without, within(1e-12));
        assertThat(((GroupRule.Admission.Admitted) STD.admit(new double[] {0.2, Double.NaN, 0.8, 0.5})).members())
                .isEqualTo(3);
    }

    @Test
    void one_bad_member_among_equals_is_trained_on_and_the_others_too() {
        double[] advantages = admitted(STD, 0, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95);

        assertThat(advantages[0]).isEqualTo(-7 / Math.sqrt(8), within(1e-9));
        assertThat(Arrays.copyOfRange(advantages, 1, 8)).containsOnly(advantages[1]);
        assertThat(advantages[1]).isEqualTo(1 / Math.sqrt(8), within(1e-9));
    }

    @Test
    void equal_rewards_drop_the_group_also_when_they_differ_by_float_noise() {
        for (double[] rewards : new double[][] {
            {0.5, 0.5, 0.5, 0.5}, {0, 0}, {0.1 + 0.2, 0.3, 0.3}, {0.7, 0.7 + 1e-9, 0.7}, {0.5, Double.NaN, 0.5}
        }) {
            assertThat(dropped(rewards)).isEqualTo(GroupRule.Cause.ZERO_SPREAD);
        }
        assertThat(0.1 + 0.2).as("the noise is there").isNotEqualTo(0.3);
    }

    @Test
    void a_group_of_one_or_none_is_dropped_as_too_small() {
        assertThat(dropped(0.5)).isEqualTo(GroupRule.Cause.TOO_SMALL);
        assertThat(dropped(0.5, Double.NaN, Double.NaN)).isEqualTo(GroupRule.Cause.TOO_SMALL);
        assertThat(dropped(Double.NaN, Double.POSITIVE_INFINITY)).isEqualTo(GroupRule.Cause.TOO_SMALL);
        assertThatThrownBy(() -> new GroupRule(Normalization.STD, 0, 1)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void absolute_and_delta_give_equal_advantages_without_invalid_members_and_others_with_them() {
        Rewards absolute = new Rewards(RewardMode.ABSOLUTE, 0.05);
        Rewards delta = new Rewards(RewardMode.DELTA_DEV, 0.05);
        Judged[] valid = {new Judged.Scored(0.2), new Judged.Scored(0.9), new Judged.Scored(0.4)};
        Judged[] mixed = {new Judged.Scored(0.2), new Judged.Scored(0.9), new Judged.Invalid(OutcomeCode.NO_BLOCK)};

        assertThat(admitted(STD, rewards(absolute, valid)))
                .containsExactly(admitted(STD, rewards(delta, valid)), within(1e-9));
        double[] mixedAbsolute = admitted(STD, rewards(absolute, mixed));
        double[] mixedDelta = admitted(STD, rewards(delta, mixed));
        // An invalid edit lies below a harmful one in absolute and above it in delta.
        assertThat(mixedAbsolute[2]).isLessThan(mixedAbsolute[0]);
        assertThat(mixedDelta[2]).isGreaterThan(mixedDelta[0]);
    }

    private static double[] rewards(Rewards rule, Judged[] members) {
        return Arrays.stream(members)
                .mapToDouble(member -> ((Reward.Given) rule.of(member, 0.5)).withBonus())
                .toArray();
    }

    private static double[] admitted(GroupRule rule, double... rewards) {
        GroupRule.Admission admission = rule.admit(rewards);
        assertThat(admission).isInstanceOf(GroupRule.Admission.Admitted.class);
        return ((GroupRule.Admission.Admitted) admission).advantages();
    }

    private static GroupRule.Cause dropped(double... rewards) {
        GroupRule.Admission admission = STD.admit(rewards);
        assertThat(admission).isInstanceOf(GroupRule.Admission.Dropped.class);
        return ((GroupRule.Admission.Dropped) admission).cause();
    }
}
