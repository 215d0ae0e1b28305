package org.harnesslearning.solver.inference;

import java.util.List;

/**
 * A prompt in tokens.
 *
 * @param texts the text of each token; bytes that are no UTF-8 by themselves as U+FFFD
 * @param maxModelLen most tokens of prompt and reply
 */
public record Tokenized(List<Integer> tokens, List<String> texts, int maxModelLen) {
    public Tokenized {
        tokens = List.copyOf(tokens);
        texts = List.copyOf(texts);
    }
}
