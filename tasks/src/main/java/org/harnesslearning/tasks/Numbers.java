package org.harnesslearning.tasks;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Numbers in answers: an optional sign, digits with or without thousands separators, decimals, an exponent; or a fraction
 * of two such numbers ({@code 3/4}). Nothing is searched for inside a longer text. Comparison is decimal, not binary, so
 * {@code 0.1} equals {@code 0.10} and large integers keep every digit.
 */
final class Numbers {
    private static final String NUMBER = "[+-]?(?:\\d{1,3}(?:,\\d{3})+|\\d+)?(?:\\.\\d*)?(?:[eE][+-]?\\d{1,3})?";
    private static final Pattern FORM = Pattern.compile("(" + NUMBER + ")(?:\\s*/\\s*(" + NUMBER + "))?");
    private static final Pattern DIGIT_FIRST = Pattern.compile("[+-]?\\.?\\d.*");
    private static final int MAX_LENGTH = 400;

    private Numbers() {}

    /** The number that a text is; null when it is none. */
    static @Nullable BigDecimal parse(String text) {
        String stripped = text.strip();
        if (stripped.length() > MAX_LENGTH) {
            return null;
        }
        Matcher matcher = FORM.matcher(stripped.replace('\u2212', '-'));
        if (!matcher.matches()) {
            return null;
        }
        BigDecimal numerator = decimal(matcher.group(1));
        if (numerator == null || matcher.group(2) == null) {
            return numerator;
        }
        BigDecimal denominator = decimal(matcher.group(2));
        return denominator == null || denominator.signum() == 0
                ? null
                : numerator.divide(denominator, MathContext.DECIMAL128);
    }

    /** Whether the answer is within a tolerance of the accepted answer. */
    static boolean near(String gold, String answer, double absolute, double relative) {
        BigDecimal expected = parse(gold);
        BigDecimal actual = parse(answer);
        if (expected == null || actual == null) {
            return false;
        }
        BigDecimal difference = actual.subtract(expected).abs();
        return difference.signum() == 0
                || difference.compareTo(new BigDecimal(absolute)) <= 0
                || difference.compareTo(new BigDecimal(relative).multiply(expected.abs())) <= 0;
    }

    private static @Nullable BigDecimal decimal(String text) {
        return DIGIT_FIRST.matcher(text).matches() ? new BigDecimal(text.replace(",", "")) : null;
    }
}
