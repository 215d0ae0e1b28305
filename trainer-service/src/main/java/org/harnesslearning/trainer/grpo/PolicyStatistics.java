package org.harnesslearning.trainer.grpo;

import java.util.Map;
import java.util.TreeMap;
import org.harnesslearning.trainer.run.StepReport;

/** What the objective saw of the policy, as plain numbers that can be combined over micro-batches and processes. */
final class PolicyStatistics {
    private static final int TOKENS = 0;
    private static final int CLIPPED = 1;
    private static final int ENTROPY = 2;
    private static final int MOVEMENT = 3;
    private static final int KL = 4;
    private static final int KL_TOKENS = 5;
    private static final int GAP = 6;
    private static final int GAP_TOKENS = 7;
    private static final int CAPPED = 8;
    private static final int RATIO_MIN = 9;
    private static final int RATIO_MAX = 10;
    private static final int GAP_MAX = 11;
    private static final int SIZE = 12;

    private final double[] values;

    PolicyStatistics() {
        values = new double[SIZE];
        values[RATIO_MIN] = Double.MAX_VALUE;
    }

    private PolicyStatistics(double[] values) {
        this.values = values.clone();
    }

    static PolicyStatistics of(double[] values) {
        if (values.length != SIZE) {
            throw new IllegalArgumentException("these are no statistics of a policy");
        }
        return new PolicyStatistics(values);
    }

    double[] values() {
        return values.clone();
    }

    /** Adds a token after its forward pass. */
    void token(double ratio, boolean clip, double entropy) {
        values[TOKENS]++;
        values[CLIPPED] += clip ? 1 : 0;
        values[ENTROPY] += entropy;
        values[MOVEMENT] += ratio - 1 - Math.log(ratio);
        values[RATIO_MIN] = Math.min(values[RATIO_MIN], ratio);
        values[RATIO_MAX] = Math.max(values[RATIO_MAX], ratio);
    }

    /** Adds a token's distance from the reference. */
    void reference(double estimate) {
        values[KL] += estimate;
        values[KL_TOKENS]++;
    }

    /** Adds a token's difference between trainer and sampler, both before the step. */
    void sampler(double difference, boolean overCap) {
        values[GAP] += Math.abs(difference);
        values[GAP_TOKENS]++;
        values[CAPPED] += overCap ? 1 : 0;
        values[GAP_MAX] = Math.max(values[GAP_MAX], Math.abs(difference));
    }

    PolicyStatistics merge(PolicyStatistics other) {
        double[] merged = new double[SIZE];
        for (int i = 0; i < SIZE; i++) {
            merged[i] = switch (i) {
                case RATIO_MIN -> Math.min(values[i], other.values[i]);
                case RATIO_MAX, GAP_MAX -> Math.max(values[i], other.values[i]);
                default -> values[i] + other.values[i];
            };
        }
        return new PolicyStatistics(merged);
    }

    /** Metrics by name; those without a finite value are left out. */
    Map<String, Double> metrics() {
        Map<String, Double> metrics = new TreeMap<>();
        if (values[TOKENS] > 0) {
            metrics.put(StepReport.CLIP_SHARE, values[CLIPPED] / values[TOKENS]);
            metrics.put(StepReport.ENTROPY, values[ENTROPY] / values[TOKENS]);
            metrics.put("policy_movement", values[MOVEMENT] / values[TOKENS]);
            metrics.put("ratio_min", values[RATIO_MIN]);
            metrics.put("ratio_max", values[RATIO_MAX]);
        }
        if (values[KL_TOKENS] > 0) {
            metrics.put(StepReport.KL, values[KL] / values[KL_TOKENS]);
        }
        if (values[GAP_TOKENS] > 0) {
            metrics.put("sampler_gap", values[GAP] / values[GAP_TOKENS]);
            metrics.put("sampler_gap_max", values[GAP_MAX]);
            metrics.put("importance_capped_share", values[CAPPED] / values[GAP_TOKENS]);
        }
        metrics.values().removeIf(value -> !Double.isFinite(value));
        return metrics;
    }
}
