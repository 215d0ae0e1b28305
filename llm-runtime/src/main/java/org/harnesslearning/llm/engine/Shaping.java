package org.harnesslearning.llm.engine;

/**
 * What the graph's head does to the logits of one row.
 *
 * @param inverseTemperature factor on the logits
 * @param penalty repetition penalty, 1 for none
 * @param penalised distinct tokens that it hits
 */
record Shaping(float inverseTemperature, float penalty, int[] penalised) {

    private static final int[] NONE = {};

    /** The model's own logits. */
    static final Shaping PLAIN = new Shaping(1, 1, NONE);

    static Shaping ofTemperature(double temperature) {
        return temperature == 0 ? PLAIN : new Shaping((float) (1 / temperature), 1, NONE);
    }
}
