package org.harnesslearning.contracts.execution;

import java.util.Map;
import java.util.TreeMap;
import org.harnesslearning.contracts.hash.Hashes;

/**
 * The model behind {@code env.llm} and its decoding limits.
 *
 * @param model name at the model endpoint
 * @param maxTokens most new tokens a call; a harness may ask for fewer
 */
public record SolverSettings(String model, double temperature, double topP, int maxTokens) {
    /** Defaults of the public API: greedy, 512 new tokens. */
    public static SolverSettings greedy(String model) {
        return new SolverSettings(model, 0.0, 1.0, 512);
    }

    /**
     * Hash of the solver: what the model is and how it decodes.
     *
     * @param identity {@link org.harnesslearning.contracts.model.ModelInfo#identity()}
     */
    public String hash(String identity) {
        Map<String, Object> fields = new TreeMap<>();
        fields.put("identity", identity);
        fields.put("temperature", temperature);
        fields.put("top_p", topP);
        fields.put("max_tokens", maxTokens);
        return Hashes.json(fields);
    }
}
