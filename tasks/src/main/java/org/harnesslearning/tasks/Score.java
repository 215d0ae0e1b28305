package org.harnesslearning.tasks;

/**
 * What an answer is worth.
 *
 * @param value finite, 0 to 1
 */
public record Score(double value) {
    /** A wrong answer. */
    public static final Score ZERO = new Score(0);

    /** A wholly right answer. */
    public static final Score ONE = new Score(1);

    public Score {
        if (!(value >= 0 && value <= 1)) {
            throw new IllegalArgumentException("score " + value + " is not from 0 to 1");
        }
    }

    /** Whether the answer is wholly right: the value is exactly 1.0. Partial credit never counts here. */
    public boolean strict() {
        return value == 1.0;
    }

    static Score of(boolean right) {
        return right ? ONE : ZERO;
    }
}
