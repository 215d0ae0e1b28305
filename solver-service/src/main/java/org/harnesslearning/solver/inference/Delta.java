package org.harnesslearning.solver.inference;

import java.util.List;
import org.harnesslearning.contracts.model.ChatResponse;

/**
 * What was added to a reply.
 *
 * @param choice index of the reply
 * @param text text that has become certain; it may be empty where only tokens are told
 * @param tokens the tokens sampled since the last addition, where the call asks for log-probabilities or token ids
 */
public record Delta(int choice, String text, List<Token> tokens) {
    /**
     * A sampled token.
     *
     * @param offset characters of the reply before it
     */
    public record Token(int id, ChatResponse.TokenLogprob logprob, int offset) {}

    public Delta {
        tokens = List.copyOf(tokens);
    }
}
