package org.harnesslearning.executor.sandbox;

import java.util.List;
import org.harnesslearning.contracts.model.ChatRequest;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

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
     * One call of {@code env.tool}; blocks until the answer is there.
     *
     * @throws CallBudgetException when the question has used all its calls
     * @throws InterruptedException when the question's deadline passed or its work was cancelled
     */
    default ToolAnswer tool(ToolRequest request) throws InterruptedException {
        return new ToolAnswer.Failed("unknown", null, "this task has no tools");
    }

    /**
     * A call of a tool as the harness made it.
     *
     * @param arguments a JSON object
     */
    record ToolRequest(String name, JsonNode arguments) {}

    /** What {@code env.tool} returns or raises. */
    sealed interface ToolAnswer {
        /**
         * The tool's answer.
         *
         * @param json whether the text is JSON, for a value; else it is the result itself
         */
        record Result(String text, boolean json) implements ToolAnswer {}

        /**
         * Raised inside the harness.
         *
         * @param kind {@code unknown}, {@code arguments}, {@code http} or {@code too_large}
         * @param status HTTP status of the tool's answer, where it gave one
         */
        record Failed(String kind, @Nullable Integer status, String message) implements ToolAnswer {}
    }

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

        private final boolean tool;

        /** More calls of the model than this. */
        public CallBudgetException(int limit) {
            super("more than " + limit + " model calls");
            this.tool = false;
        }

        /** Too many calls of a tool. */
        public CallBudgetException(String message) {
            super(message);
            this.tool = true;
        }

        /** Whether they were calls of a tool. */
        public boolean tool() {
            return tool;
        }
    }

    /** The question's deadline passed while a call was pending: an infrastructure failure, not a score. */
    final class PendingCallException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final boolean tool;

        public PendingCallException(String message, boolean tool) {
            super(message);
            this.tool = tool;
        }

        /** Whether it was the call of a tool. */
        public boolean tool() {
            return tool;
        }
    }
}
