package org.harnesslearning.llm.engine;

/** Comparisons of logits. */
final class Logits {

    private Logits() {}

    static double maxDifference(float[] first, float[] second) {
        if (first.length != second.length) {
            throw new IllegalArgumentException(first.length + " and " + second.length + " logits");
        }
        double most = 0;
        for (int i = 0; i < first.length; i++) {
            most = Math.max(most, Math.abs(first[i] - second[i]));
        }
        return most;
    }

    static int argmax(float[] logits) {
        int best = 0;
        for (int i = 1; i < logits.length; i++) {
            if (logits[i] > logits[best]) {
                best = i;
            }
        }
        return best;
    }

    /** Kullback-Leibler divergence of the softmax of {@code actual} from that of {@code expected}, nats. */
    static double divergence(float[] expected, float[] actual) {
        double first = logSum(expected);
        double second = logSum(actual);
        double sum = 0;
        for (int i = 0; i < expected.length; i++) {
            double logP = expected[i] - first;
            sum += Math.exp(logP) * (logP - (actual[i] - second));
        }
        return sum;
    }

    private static double logSum(float[] logits) {
        double highest = logits[argmax(logits)];
        double sum = 0;
        for (float logit : logits) {
            sum += Math.exp(logit - highest);
        }
        return highest + Math.log(sum);
    }
}
