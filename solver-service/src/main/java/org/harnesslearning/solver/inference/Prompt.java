package org.harnesslearning.solver.inference;

import java.util.List;
import java.util.Map;
import org.harnesslearning.llm.chat.ChatMessage;

/** What a model reads. */
public sealed interface Prompt {
    /**
     * Plain text, in which the text of a control token stands for that token.
     *
     * @param addSpecialTokens whether the begin-of-sequence token goes before it, where the checkpoint wants one
     */
    record Text(String text, boolean addSpecialTokens) implements Prompt {}

    /** Token ids as they are. */
    record Tokens(List<Integer> ids) implements Prompt {
        public Tokens {
            ids = List.copyOf(ids);
        }
    }

    /**
     * A conversation, rendered with the model's chat template; control tokens inside messages stay text.
     *
     * @param addGenerationPrompt whether the opening of a reply follows
     * @param continueFinalMessage whether the last message is left open instead
     */
    record Chat(
            List<ChatMessage> messages,
            List<Map<String, Object>> tools,
            boolean addGenerationPrompt,
            boolean continueFinalMessage)
            implements Prompt {
        public Chat {
            messages = List.copyOf(messages);
            tools = List.copyOf(tools);
        }
    }
}
