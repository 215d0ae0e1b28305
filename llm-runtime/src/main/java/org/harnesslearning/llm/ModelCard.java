package org.harnesslearning.llm;

import java.util.Set;

/**
 * Identity and shape of a loaded model.
 *
 * @param name the checkpoint's own name, or its file name
 * @param architecture {@code llama}, {@code qwen2} or {@code qwen3}; of a folder of ONNX Runtime GenAI what it says
 * @param weightsHash {@code sha256:<hex>} of the weights file (of the sorted file hashes, where there are several)
 * @param numberType how the matrices are held, e.g. {@code q4_k} (the commonest type of the file) or {@code f32}
 * @param contextLength longest sequence the checkpoint was made for, tokens
 * @param vocabularySize number of token ids
 * @param parameters number of weights, 0 where it is not known
 * @param endTokens ids after which a generation stops by itself
 */
public record ModelCard(
        String name,
        String architecture,
        String weightsHash,
        String numberType,
        int contextLength,
        int vocabularySize,
        long parameters,
        Set<Integer> endTokens) {

    public ModelCard {
        endTokens = Set.copyOf(endTokens);
    }
}
