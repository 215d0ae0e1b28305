package org.harnesslearning.llm.checkpoint;

/**
 * Rotary position embedding over whole heads, half-split form (Su et al. 2021).
 *
 * @param inverseFrequencies {@code (headSize / 2)}, radians per position, scaling included
 */
public record Rope(float[] inverseFrequencies) {

    /** Unscaled frequencies {@code base^(-2i / headSize)}. */
    public static Rope of(double base, int headSize) {
        float[] frequencies = new float[headSize / 2];
        for (int i = 0; i < frequencies.length; i++) {
            // Single precision at each step, as the models were trained with.
            frequencies[i] = 1f / (float) Math.pow(base, (float) (2 * i) / headSize);
        }
        return new Rope(frequencies);
    }

    /** Every frequency divided by {@code factor} (position interpolation). */
    Rope linear(double factor) {
        float[] scaled = inverseFrequencies.clone();
        for (int i = 0; i < scaled.length; i++) {
            scaled[i] = (float) (scaled[i] / factor);
        }
        return new Rope(scaled);
    }

    /** Each frequency divided by its own factor, as GGUF stores the scaling of Llama 3. */
    Rope divided(float[] factors) {
        float[] scaled = inverseFrequencies.clone();
        for (int i = 0; i < scaled.length; i++) {
            scaled[i] /= factors[i];
        }
        return new Rope(scaled);
    }

    /**
     * The scaling of Llama 3.1: long wavelengths are slowed by {@code factor}, short ones kept, those between blended.
     */
    Rope llama3(double factor, double lowFactor, double highFactor, double originalContext) {
        float[] scaled = inverseFrequencies.clone();
        for (int i = 0; i < scaled.length; i++) {
            double wavelength = 2 * Math.PI / scaled[i];
            double blend = (originalContext / wavelength - lowFactor) / (highFactor - lowFactor);
            double kept = Math.clamp(blend, 0, 1);
            scaled[i] = (float) ((1 - kept) * scaled[i] / factor + kept * scaled[i]);
        }
        return new Rope(scaled);
    }

    /**
     * Cosines or sines of the first positions.
     *
     * @return {@code (positions, headSize / 2)}, row-major
     */
    public float[] table(int positions, boolean sine) {
        int half = inverseFrequencies.length;
        float[] table = new float[Math.multiplyExact(positions, half)];
        for (int position = 0; position < positions; position++) {
            for (int i = 0; i < half; i++) {
                float angle = position * inverseFrequencies[i];
                table[position * half + i] = (float) (sine ? Math.sin(angle) : Math.cos(angle));
            }
        }
        return table;
    }
}
