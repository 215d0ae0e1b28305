package org.harnesslearning.contracts.execution;

import java.util.List;

/**
 * An exception of the harness.
 *
 * @param type Python class name, such as {@code ValueError}
 * @param message its text, truncated
 * @param frames the harness's own frames, outermost first
 */
public record HarnessError(String type, String message, List<Frame> frames) {
    /** One frame: 1-based line of the harness source and that line's text. */
    public record Frame(int line, String function, String text) {}

    public HarnessError {
        frames = List.copyOf(frames);
    }
}
