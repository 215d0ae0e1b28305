package org.harnesslearning.llm;

/**
 * How the next token is chosen. The order is repetition penalty, presence and frequency penalty, temperature, min-p, top-k,
 * top-p.
 *
 * @param temperature 0 takes the likeliest token
 * @param topP nucleus mass in (0, 1]; 1 switches it off
 * @param topK number of likeliest tokens kept; 0 switches it off
 * @param repetitionPenalty factor against tokens of prompt and completion, 1 switches it off (Keskar et al. 2019,
 *     section 4.1: positive logits are divided by it, negative ones multiplied)
 * @param minP tokens less likely than this share of the likeliest one's probability are dropped, 0 … 1; 0 switches it off
 * @param presencePenalty taken from the logit of each token that the completion holds, −2 … 2, as in the OpenAI API
 * @param frequencyPenalty as {@code presencePenalty}, once for each time that the completion holds the token
 */
public record Sampling(
        double temperature,
        double topP,
        int topK,
        double repetitionPenalty,
        double minP,
        double presencePenalty,
        double frequencyPenalty) {

    public Sampling {
        require(temperature >= 0 && temperature <= 100, "temperature must lie in 0..100");
        require(topP > 0 && topP <= 1, "topP must lie in (0, 1]");
        require(topK >= 0, "topK must not be negative");
        require(repetitionPenalty > 0 && repetitionPenalty <= 100, "repetitionPenalty must lie in (0, 100]");
        require(minP >= 0 && minP <= 1, "minP must lie in 0..1");
        require(presencePenalty >= -2 && presencePenalty <= 2, "presencePenalty must lie in -2..2");
        require(frequencyPenalty >= -2 && frequencyPenalty <= 2, "frequencyPenalty must lie in -2..2");
    }

    /** Without min-p, presence and frequency penalty. */
    public Sampling(double temperature, double topP, int topK, double repetitionPenalty) {
        this(temperature, topP, topK, repetitionPenalty, 0, 0, 0);
    }

    /** Always the likeliest token. */
    public static Sampling greedy() {
        return new Sampling(0, 1, 0, 1);
    }

    /** Plain sampling from the softmax at {@code temperature}. */
    public static Sampling ofTemperature(double temperature) {
        return new Sampling(temperature, 1, 0, 1);
    }

    /** Whether logits depend on the tokens so far. */
    public boolean penalises() {
        return repetitionPenalty != 1 || presencePenalty != 0 || frequencyPenalty != 0;
    }

    private static void require(boolean holds, String message) {
        if (!holds) {
            throw new IllegalArgumentException(message);
        }
    }
}
