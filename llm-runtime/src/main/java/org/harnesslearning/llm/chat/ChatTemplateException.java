package org.harnesslearning.llm.chat;

/** A chat template cannot be parsed, uses what is not supported, or refuses a conversation; the message says which. */
public final class ChatTemplateException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public ChatTemplateException(String message) {
        super(message);
    }
}
