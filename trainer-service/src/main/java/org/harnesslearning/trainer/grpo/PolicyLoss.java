package org.harnesslearning.trainer.grpo;

/**
 * What the objective weighs.
 *
 * @param clipLow how far a ratio may fall below 1 before it stops to pay, 0 to 1
 * @param clipHigh how far it may rise above 1
 * @param klCoefficient weight of the distance from the base without adapter; 0 for none
 * @param entropyCoefficient weight of the policy's entropy, which is rewarded; 0 for none
 * @param importanceCap largest weight of a token for the difference between sampler and trainer, at least 1
 */
public record PolicyLoss(
        double clipLow, double clipHigh, double klCoefficient, double entropyCoefficient, double importanceCap) {
    /** Clip 0.2 and 0.28, neither KL nor entropy, weights up to 2. */
    public static final PolicyLoss DEFAULTS = new PolicyLoss(0.2, 0.28, 0, 0, 2);

    public PolicyLoss {
        if (!(clipLow >= 0 && clipLow <= 1)
                || !(clipHigh >= 0)
                || !(klCoefficient >= 0)
                || !(entropyCoefficient >= 0)
                || !(importanceCap >= 1 && importanceCap < Double.POSITIVE_INFINITY)) {
            throw new IllegalArgumentException("no setting of a policy loss");
        }
    }
}
