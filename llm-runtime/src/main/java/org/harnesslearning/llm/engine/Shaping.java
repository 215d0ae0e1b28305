package org.harnesslearning.llm.engine;

/**
 * What the graph's head does to the logits of one row: for the penalised tokens first the repetition penalty, then the
 * offset is taken away; then all are multiplied.
 *
 * @param inverseTemperature factor on the logits
 * @param penalty repetition penalty, 1 for none
 * @param penalised distinct tokens that it hits
 * @param offsets one for each of them, taken from its logit
 */
record Shaping(float inverseTemperature, float penalty, int[] penalised, float[] offsets) {

    private static final int[] NONE = {};

    /** The model's own logits. */
    static final Shaping PLAIN = new Shaping(1, 1, NONE);

    Shaping {
        if (penalised.length != offsets.length) {
            throw new IllegalArgumentException("each penalised token needs its offset");
        }
    }

    /** Without offsets. */
    Shaping(float inverseTemperature, float penalty, int[] penalised) {
        this(inverseTemperature, penalty, penalised, new float[penalised.length]);
    }

    static Shaping ofTemperature(double temperature) {
        return temperature == 0 ? PLAIN : new Shaping((float) (1 / temperature), 1, NONE);
    }
}
