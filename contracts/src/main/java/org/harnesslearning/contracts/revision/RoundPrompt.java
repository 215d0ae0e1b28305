package org.harnesslearning.contracts.revision;

import java.util.List;
import org.harnesslearning.contracts.model.ChatRequest;

/**
 * A prompt of the proposer.
 *
 * @param continued whether the last message is the beginning of the reply
 * @param promptVersion version of the prompt files
 * @param reportVersion version of the report's template
 * @param descriptionsVersion version of the task descriptions
 */
public record RoundPrompt(
        List<ChatRequest.Message> messages,
        boolean continued,
        String promptVersion,
        String reportVersion,
        String descriptionsVersion) {
    public RoundPrompt {
        messages = List.copyOf(messages);
    }
}
