package org.harnesslearning.trainer.grpo;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.harnesslearning.contracts.request.Faults;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.trainer.method.AdapterSettings;
import org.harnesslearning.trainer.method.EngineSettings;
import org.harnesslearning.trainer.method.OptimizerSettings;
import org.harnesslearning.trainer.method.StartHarnesses;
import org.harnesslearning.trainer.reward.RewardMode;
import org.harnesslearning.trainer.reward.Rewards;
import org.harnesslearning.trainer.rollout.Groups;
import org.harnesslearning.trainer.rollout.RolloutSettings;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Settings of a run of group-relative policy optimisation.
 *
 * @param candidates K: samples of one state
 * @param groupsPerBatch states of one batch
 * @param iterations optimiser steps on one batch; each outcome is used so often and no more
 * @param maxStaleness batches that the sampling may run ahead of the training; 0: every sample comes from the weights
 *     that it changes first
 * @param groupsInFlight groups that are sampled at once
 * @param failuresInRow groups that may fail in a row; one more stops the run
 * @param groupPatienceS longest wait for one revision or evaluation, in seconds
 * @param rewardMode what is rewarded
 * @param bonus of each of the two steps of validity, {@code absolute} only
 * @param normalization of rewards in a group
 * @param minRewardRange rewards of a group that lie closer together count as equal
 * @param minMembers fewest members with a reward
 * @param distinct whether samples of a group that made the same harness count once: copies would weigh what is sampled
 *     often over what is rare and better
 * @param clipLow see {@link PolicyLoss}
 * @param clipHigh see {@link PolicyLoss}
 * @param klCoefficient see {@link PolicyLoss}
 * @param measureKl whether the distance from the base is computed even where it has no weight
 * @param entropyCoefficient see {@link PolicyLoss}
 * @param importanceCap see {@link PolicyLoss}
 * @param harnesses hashes of the starting harnesses, in turn; empty for the minimal one
 * @param familyHarnesses those of families that have their own
 * @param depth several steps only: states from a starting harness to the end of its lane
 * @param selection several steps only: which harness goes on
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record GrpoSettings(
        int candidates,
        int groupsPerBatch,
        int iterations,
        int maxStaleness,
        int groupsInFlight,
        int failuresInRow,
        long groupPatienceS,
        RewardMode rewardMode,
        double bonus,
        Normalization normalization,
        double minRewardRange,
        int minMembers,
        Boolean distinct,
        double clipLow,
        double clipHigh,
        double klCoefficient,
        boolean measureKl,
        double entropyCoefficient,
        double importanceCap,
        List<String> harnesses,
        Map<String, List<String>> familyHarnesses,
        @Nullable Integer depth,
        @Nullable Chosen selection,
        RolloutSettings rollout,
        AdapterSettings lora,
        OptimizerSettings optimizer,
        EngineSettings engine) {
    /** Adam 2e-5 constant: that of full fine-tuning, 1e-6, raised for an adapter. */
    private static final OptimizerSettings OPTIMIZER =
            new OptimizerSettings(2e-5, "constant", 0, 0, 0.9, 0.98, 1e-8, 1);

    /** Which harness goes on. */
    enum Chosen {
        KEEP_INCUMBENT,
        BEST_OF_ROUND;

        @JsonValue
        String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    GrpoSettings {
        harnesses = List.copyOf(harnesses);
        // Runs that were ordered before these fields existed lack them.
        familyHarnesses = familyHarnesses == null ? Map.of() : Map.copyOf(familyHarnesses);
        distinct = distinct != null && distinct;
    }

    /**
     * Reads a request.
     *
     * @param several whether states follow each other
     * @throws org.harnesslearning.contracts.error.PlatformException with all faults
     */
    static GrpoSettings read(JsonNode request, boolean several) {
        Faults faults = new Faults();
        Fields fields = Fields.of(request, faults);
        int candidates = (int) fields.integer("candidates", 8, 2, 64);
        int minMembers = (int) fields.integer("min_members", 2, 2, 64);
        if (minMembers > candidates) {
            fields.fault("min_members", "must not exceed candidates");
        }
        PolicyLoss loss = PolicyLoss.DEFAULTS;
        GrpoSettings settings = new GrpoSettings(
                candidates,
                (int) fields.integer("groups_per_batch", 4, 1, 1024),
                (int) fields.integer("iterations", 1, 1, 64),
                (int) fields.integer("max_staleness", 0, 0, 64),
                (int) fields.integer("groups_in_flight", 4, 1, 256),
                (int) fields.integer("failures_in_row", 5, 1, 1000),
                fields.integer("group_patience_s", 7200, 1, 31_536_000),
                fields.choice("reward_mode", RewardMode.class, RewardMode.ABSOLUTE),
                fields.number("bonus", Rewards.DEFAULT_BONUS, 0, 1),
                fields.choice("normalization", Normalization.class, Normalization.STD),
                fields.number("min_reward_range", GroupRule.DEFAULT_MIN_RANGE, 0, 1),
                minMembers,
                fields.bool("distinct", false),
                fields.number("clip_low", loss.clipLow(), 0, 1),
                fields.number("clip_high", loss.clipHigh(), 0, 100),
                fields.number("kl_coefficient", loss.klCoefficient(), 0, 100),
                fields.bool("measure_kl", true),
                fields.number("entropy_coefficient", loss.entropyCoefficient(), 0, 100),
                fields.number("importance_cap", loss.importanceCap(), 1, 1e6),
                StartHarnesses.read(fields),
                StartHarnesses.byFamily(fields),
                several ? (Integer) (int) fields.integer("depth", 3, 1, 100) : null,
                several ? fields.choice("selection", Chosen.class, Chosen.KEEP_INCUMBENT) : null,
                RolloutSettings.read(fields.object("rollout")),
                AdapterSettings.read(fields.object("lora")),
                OptimizerSettings.read(fields.object("optimizer"), OPTIMIZER),
                EngineSettings.read(fields.object("engine")));
        fields.end();
        faults.check();
        return settings;
    }

    Rewards rewards() {
        return new Rewards(rewardMode, bonus);
    }

    GroupRule rule() {
        return new GroupRule(normalization, minRewardRange, minMembers);
    }

    PolicyLoss loss() {
        return new PolicyLoss(clipLow, clipHigh, klCoefficient, entropyCoefficient, importanceCap);
    }

    /** Whether the base's log-probabilities are needed. */
    boolean reference() {
        return measureKl || klCoefficient > 0;
    }

    /** States of a lane from its start to its end. */
    int laneLength() {
        return depth == null ? 1 : depth;
    }

    /** How a harness is chosen. */
    Groups.Selection chosen() {
        return selection == null
                ? Groups.Selection.NONE
                : switch (selection) {
                    case KEEP_INCUMBENT -> Groups.Selection.KEEP_INCUMBENT;
                    case BEST_OF_ROUND -> Groups.Selection.BEST_OF_ROUND;
                };
    }
}
