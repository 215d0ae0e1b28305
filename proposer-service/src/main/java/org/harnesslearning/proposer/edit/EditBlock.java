package org.harnesslearning.proposer.edit;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One SEARCH/REPLACE block: a run of whole lines and what takes its place.
 *
 * @param search lines to find, without line endings
 * @param replace lines to write, without line endings
 * @param path the file named above the block; null where the block names none
 */
public record EditBlock(
        List<String> search, List<String> replace, @Nullable String path) {

    public EditBlock {
        search = List.copyOf(search);
        replace = List.copyOf(replace);
        requireLines(search);
        requireLines(replace);
        if (path != null && path.indexOf('\n') >= 0) {
            throw new IllegalArgumentException("a path is one line");
        }
    }

    /** A block that names no file. */
    public EditBlock(List<String> search, List<String> replace) {
        this(search, replace, null);
    }

    private static void requireLines(List<String> lines) {
        for (String line : lines) {
            if (line.indexOf('\n') >= 0) {
                throw new IllegalArgumentException("a line holds no line feed");
            }
        }
    }
}
