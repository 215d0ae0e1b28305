package org.harnesslearning.trainer.decoder;

/**
 * A prompt and the completion that is trained or scored.
 *
 * @param prompt token ids; not empty, since the completion's first token needs one before it
 * @param completion token ids; not empty
 */
public record Sequence(int[] prompt, int[] completion) {

    /** Copies both. */
    public Sequence {
        if (prompt.length == 0 || completion.length == 0) {
            throw new IllegalArgumentException("a sequence has " + prompt.length + " prompt tokens and "
                    + completion.length + " completion tokens; it needs at least one of each");
        }
        prompt = prompt.clone();
        completion = completion.clone();
    }

    /** Tokens of both. */
    public int length() {
        return prompt.length + completion.length;
    }

    /** Token {@code i} of both, the prompt first. */
    int token(int i) {
        return i < prompt.length ? prompt[i] : completion[i - prompt.length];
    }
}
