package org.harnesslearning.contracts.execution;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.harnesslearning.contracts.model.ChatRequest;
import org.jspecify.annotations.Nullable;

/**
 * One brokered call of {@code env.llm}.
 *
 * @param reply null when the call failed
 * @param error why it failed, null when it did not
 * @param ms wall clock in milliseconds, queueing included
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record ModelCall(
        List<ChatRequest.Message> messages,
        @Nullable String reply,
        @Nullable String finishReason,
        @Nullable String error,
        int promptTokens,
        int completionTokens,
        long ms) {
    public ModelCall {
        messages = List.copyOf(messages);
    }
}
