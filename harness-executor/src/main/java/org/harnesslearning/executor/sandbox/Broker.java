package org.harnesslearning.executor.sandbox;

import java.util.List;
import org.harnesslearning.contracts.model.ChatRequest;
import org.jspecify.annotations.Nullable;

/**
 * Serves the brokered calls of one question. What it throws ends the question: {@link CallBudgetException} as a result of
 * the harness, anything else is passed on to whoever asked the question.
 */
@FunctionalInterface
public interface Broker {
    /**
     * One call of {@code env.llm}; blocks until the answer is there.
     *
     * @throws CallBudgetException when the question has used all its calls
     * @throws InterruptedException when the question's deadline passed or its work was cancelled
     */
    Answer call(Request request) throws InterruptedException;

    /**
     * A request as the harness made it, valid in form.
     *
     * @param messages at least one
     * @param stop 1 to 16 texts, or null
     */
    record Request(
            List<ChatRequest.Message> messages,
            @Nullable Integer maxTokens,
            @Nullable Double temperature,
            @Nullable List<String> stop) {
        public Request {
            messages = List.copyOf(messages);
        }
    }

    /** What {@code env.llm} returns or raises. */
    sealed interface Answer {
        /** The reply's text. */
        record Reply(String text) implements Answer {}

        /** The request can't be served as it is, such as a prompt longer than the context; raised inside the harness. */
        record Refused(String message) implements Answer {}
    }

    /** The question has made as many calls as it may. */
    final class CallBudgetException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        public CallBudgetException(int limit) {
            super("more than " + limit + " model calls");
        }
    }

    /** The question's deadline passed while a call was pending: an infrastructure failure, not a score. */
    final class PendingCallException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        public PendingCallException(String message) {
            super(message);
        }
    }
}
