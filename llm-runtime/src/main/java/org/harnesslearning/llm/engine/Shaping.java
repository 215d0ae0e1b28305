package org.harnesslearning.llm.engine;

/**
 * What a step does for one row: which adapter its tokens see, and what the graph's head does to its logits: for the
 * penalised tokens first the repetition penalty, then the offset is taken away; then all are multiplied.
 *
 * @param inverseTemperature factor on the logits
 * @param penalty repetition penalty, 1 for none
 * @param penalised distinct tokens that it hits
 * @param offsets one for each of them, taken from its logit
 * @param adapter slot of the adapter, or {@link #NO_ADAPTER}
 */
record Shaping(float inverseTemperature, float penalty, int[] penalised, float[] offsets, int adapter) {

    static final int NO_ADAPTER = -1;

    private static final int[] NONE = {};

    /** The model's own logits. */
    static final Shaping PLAIN = new Shaping(1, 1, NONE);

    Shaping {
        if (penalised.length != offsets.length) {
            throw new IllegalArgumentException("each penalised token needs its offset");
        }
    }

    /** With the base's weights alone. */
    Shaping(float inverseTemperature, float penalty, int[] penalised, float[] offsets) {
        this(inverseTemperature, penalty, penalised, offsets, NO_ADAPTER);
    }

    /** Without offsets. */
    Shaping(float inverseTemperature, float penalty, int[] penalised) {
        this(inverseTemperature, penalty, penalised, new float[penalised.length]);
    }

    Shaping withAdapter(int slot) {
        return new Shaping(inverseTemperature, penalty, penalised, offsets, slot);
    }

    static Shaping ofTemperature(double temperature) {
        return temperature == 0 ? PLAIN : new Shaping((float) (1 / temperature), 1, NONE);
    }
}
