package org.harnesslearning.executor.broker;

/** A tool gave no answer for reasons that do not lie in the harness: an infrastructure failure, never a score. */
public final class ToolUnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient ToolClient.Sent sent;

    ToolUnavailableException(String message, ToolClient.Sent sent) {
        super(message);
        this.sent = sent;
    }

    ToolClient.Sent sent() {
        return sent;
    }
}
