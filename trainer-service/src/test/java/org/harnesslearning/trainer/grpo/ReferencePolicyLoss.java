package org.harnesslearning.trainer.grpo;

import java.util.List;

/** The objective once more, token by token in doubles, with its derivative by hand; shares no code with the other one. */
final class ReferencePolicyLoss {
    private ReferencePolicyLoss() {}

    /** Loss and its derivatives by the log-probabilities and the entropies. */
    record Result(double loss, double[] byLogprob, double[] byEntropy) {}

    static Result of(PolicyLoss settings, List<PolicySample> samples, double[] logprobs, double[] entropies, double n) {
        double loss = 0;
        double[] byLogprob = new double[logprobs.length];
        double[] byEntropy = new double[logprobs.length];
        int at = 0;
        for (PolicySample sample : samples) {
            for (int i = 0; i < sample.old().length; i++, at++) {
                double a = sample.advantage();
                double r = Math.exp(logprobs[at] - sample.old()[i]);
                double w = 1;
                if (i < sample.sampling().length) {
                    w = Math.exp(sample.old()[i] - sample.sampling()[i]);
                    if (w > settings.importanceCap()) {
                        w = settings.importanceCap();
                    }
                }
                boolean above = a > 0 && r > 1 + settings.clipHigh();
                boolean below = a < 0 && r < 1 - settings.clipLow();
                if (above) {
                    loss -= w * (1 + settings.clipHigh()) * a / n;
                } else if (below) {
                    loss -= w * (1 - settings.clipLow()) * a / n;
                } else {
                    loss -= w * r * a / n;
                    byLogprob[at] -= w * r * a / n;
                }
                if (settings.klCoefficient() > 0) {
                    double q = sample.reference()[i] - logprobs[at];
                    loss += settings.klCoefficient() * (Math.exp(q) - q - 1) / n;
                    byLogprob[at] += settings.klCoefficient() * (1 - Math.exp(q)) / n;
                }
                loss -= settings.entropyCoefficient() * entropies[at] / n;
                byEntropy[at] -= settings.entropyCoefficient() / n;
            }
        }
        return new Result(loss, byLogprob, byEntropy);
    }
}
