package org.harnesslearning.proposer.run;

/**
 * Splits a budget between the rounds and the final measurement, as plain arithmetic. The rounds may spend the budget less
 * the reserve; the final measurement may spend all that is left. So a run whose rounds use up their part still measures
 * its result.
 *
 * <p>The reserve is what the final questions are expected to need (questions × mean calls a question so far), at most
 * half of the budget: a harness that calls the model more often than the mean may still exhaust it, and then the final
 * columns that were measured in full are reported and the others are missing.
 */
public final class Reserve {
    private Reserve() {}

    /**
     * What the rounds may spend.
     *
     * @param budget whole budget
     * @param perQuestion expected use of one question
     * @param finalQuestions questions of the final measurement
     */
    public static long forRounds(long budget, double perQuestion, long finalQuestions) {
        long reserve = Math.min((long) Math.ceil(perQuestion * finalQuestions), budget / 2);
        return budget - reserve;
    }
}
