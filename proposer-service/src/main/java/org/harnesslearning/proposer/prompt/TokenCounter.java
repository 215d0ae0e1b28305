package org.harnesslearning.proposer.prompt;

/** Counts the tokens that a model makes of a text. */
@FunctionalInterface
public interface TokenCounter {
    /** Tokens of the text, without any special token. */
    int count(String text);

    /** For remote models, whose tokenizer is not at hand: a third of the characters, rounded up. */
    static TokenCounter byCharacters() {
        return text -> (text.length() + 2) / 3;
    }
}
