package org.harnesslearning.llm;

/**
 * How the next token is chosen. The order is repetition penalty, temperature, top-k, top-p.
 *
 * @param temperature 0 takes the likeliest token
 * @param topP nucleus mass in (0, 1]; 1 switches it off
 * @param topK number of likeliest tokens kept; 0 switches it off
 * @param repetitionPenalty factor against tokens of prompt and completion, 1 switches it off (Keskar et al. 2019,
 *     section 4.1: positive logits are divided by it, negative ones multiplied)
 */
public record Sampling(double temperature, double topP, int topK, double repetitionPenalty) {

    public Sampling {
        require(temperature >= 0 && temperature <= 100, "temperature must lie in 0..100");
        require(topP > 0 && topP <= 1, "topP must lie in (0, 1]");
        require(topK >= 0, "topK must not be negative");
        require(repetitionPenalty > 0 && repetitionPenalty <= 100, "repetitionPenalty must lie in (0, 100]");
    }

    /** Always the likeliest token. */
    public static Sampling greedy() {
        return new Sampling(0, 1, 0, 1);
    }

    /** Plain sampling from the softmax at {@code temperature}. */
    public static Sampling ofTemperature(double temperature) {
        return new Sampling(temperature, 1, 0, 1);
    }

    private static void require(boolean holds, String message) {
        if (!holds) {
            throw new IllegalArgumentException(message);
        }
    }
}
