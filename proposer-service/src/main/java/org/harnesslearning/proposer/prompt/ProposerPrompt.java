package org.harnesslearning.proposer.prompt;

import java.util.List;
import org.harnesslearning.contracts.model.ChatRequest;
import org.jspecify.annotations.Nullable;

/**
 * The messages for one proposal.
 *
 * @param messages system, perhaps an earlier user/assistant pair, the user's turn, perhaps the beginning of the reply
 * @param version version of the prompt files, part of a run's settings
 * @param demonstration name of the demonstration shown; null without one
 * @param continued whether the last message is the beginning of the reply, which the model goes on with
 */
public record ProposerPrompt(
        List<ChatRequest.Message> messages,
        String version,
        @Nullable String demonstration,
        boolean continued) {
    public ProposerPrompt {
        messages = List.copyOf(messages);
    }
}
