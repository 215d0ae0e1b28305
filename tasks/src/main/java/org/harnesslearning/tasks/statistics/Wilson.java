package org.harnesslearning.tasks.statistics;

/**
 * Wilson's score interval of a rate (E. B. Wilson, Probable inference, the law of succession, and statistical inference,
 * JASA 22, 1927). Unlike the normal approximation it has a width at 0 of n and n of n.
 */
public final class Wilson {
    private static final double[] A = {
        -3.969683028665376e+01,
        2.209460984245205e+02,
        -2.759285104469687e+02,
        1.383577518672690e+02,
        -3.066479806614716e+01,
        2.506628277459239e+00
    };
    private static final double[] B = {
        -5.447609879822406e+01,
        1.615858368580409e+02,
        -1.556989798598866e+02,
        6.680131188771972e+01,
        -1.328068155288572e+01
    };
    private static final double[] C = {
        -7.784894002430293e-03,
        -3.223964580411365e-01,
        -2.400758277161838e+00,
        -2.549732539343734e+00,
        4.374664141464968e+00,
        2.938163982698783e+00
    };
    private static final double[] D = {
        7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00
    };

    private Wilson() {}

    /** Interval of {@code successes} out of {@code n}; {@code n} is at least 1. */
    public static Interval interval(long successes, long n, double level) {
        if (n < 1 || successes < 0 || successes > n) {
            throw new IllegalArgumentException(successes + " of " + n);
        }
        double z = normalQuantile(1 - (1 - level) / 2);
        double rate = (double) successes / n;
        double denominator = 1 + z * z / n;
        double centre = (rate + z * z / (2 * n)) / denominator;
        double half = z / denominator * Math.sqrt(rate * (1 - rate) / n + z * z / (4.0 * n * n));
        double low = successes == 0 ? 0 : Math.max(0, centre - half);
        double high = successes == n ? 1 : Math.min(1, centre + half);
        return new Interval(level, low, high);
    }

    /** Quantile of the standard normal distribution by Acklam's rational approximation, relative error below 1.2e-9. */
    static double normalQuantile(double p) {
        double edge = 0.02425;
        if (p < edge) {
            double q = Math.sqrt(-2 * Math.log(p));
            return polynomial(C, q) / (polynomial(D, q) * q + 1);
        }
        if (p > 1 - edge) {
            return -normalQuantile(1 - p);
        }
        double q = p - 0.5;
        double r = q * q;
        return polynomial(A, r) * q / (polynomial(B, r) * r + 1);
    }

    private static double polynomial(double[] coefficients, double x) {
        double value = 0;
        for (double coefficient : coefficients) {
            value = value * x + coefficient;
        }
        return value;
    }
}
