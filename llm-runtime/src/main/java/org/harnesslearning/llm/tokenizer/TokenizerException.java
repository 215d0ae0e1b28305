package org.harnesslearning.llm.tokenizer;

/** The tokenizer of a checkpoint cannot be built: the message names the checkpoint and the reason. */
public final class TokenizerException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public TokenizerException(String message) {
        super(message);
    }

    public TokenizerException(String message, Throwable cause) {
        super(message, cause);
    }
}
