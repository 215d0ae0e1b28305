package org.harnesslearning.standalone.cli;

import java.util.Locale;
import tools.jackson.databind.JsonNode;

/**
 * How long an adaptation will take, from a short measurement on this machine. Generation dominates, so the measure of
 * speed is tokens a second, a prompt token counted as a third of a sampled one (about what two cores need).
 *
 * @param lowMinutes when most candidates are invalid or duplicates
 * @param highMinutes when every candidate is run
 */
record Estimate(double lowMinutes, double highMinutes) {
    /** Weight of a prompt token. */
    static final double PROMPT_WEIGHT = 1 / 3.0;

    /** Tokens of one candidate's prompt that no other shares: demonstration, report, harness. */
    private static final double PROPOSER_PROMPT = 1100;

    private static final double PROPOSER_REPLY = 300;

    /** Tokens of one question under a typical adapted harness. */
    private static final double ADAPTED_QUESTION = 250 * PROMPT_WEIGHT + 100;

    /** How many times faster tokens come when several sequences are decoded together than in the measurement. */
    private static final double BATCHING = 2.4;

    private static final double VALID_LOW = 0.4;

    /**
     * An estimate.
     *
     * @param plan sizes of the run
     * @param questions questions measured
     * @param seconds time that they took
     * @param usage tokens that they took, of role solver
     */
    static Estimate of(Plan plan, int questions, double seconds, JsonNode usage) {
        double tokens = usage.path("completion_tokens").asDouble(0)
                + PROMPT_WEIGHT * usage.path("prompt_tokens").asDouble(0);
        double perSecond = Math.max(1, tokens / Math.max(0.001, seconds));
        double seedQuestion = seconds / Math.max(1, questions);
        double fixed = seedQuestion / BATCHING * (plan.dev() + plan.feedback() + 2.0 * plan.heldOut())
                + ADAPTED_QUESTION / perSecond / BATCHING * 2.0 * plan.heldOut()
                + plan.rounds()
                        * plan.candidates()
                        * (PROPOSER_PROMPT * PROMPT_WEIGHT + PROPOSER_REPLY / BATCHING)
                        / perSecond;
        double candidates = ADAPTED_QUESTION
                / perSecond
                / BATCHING
                * plan.rounds()
                * ((double) plan.candidates() * plan.dev() + plan.feedback());
        return new Estimate((fixed + VALID_LOW * candidates) / 60, (fixed + candidates) / 60);
    }

    /**
     * Sizes of a run.
     *
     * @param heldOut held-out questions, each scored for start, start again, result and demonstration
     */
    record Plan(int rounds, int candidates, int feedback, int dev, int heldOut) {}

    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%.0f to %.0f minutes", Math.max(1, lowMinutes), Math.max(1, highMinutes));
    }
}
