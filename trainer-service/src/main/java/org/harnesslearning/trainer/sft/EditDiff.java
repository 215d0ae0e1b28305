package org.harnesslearning.trainer.sft;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.harnesslearning.contracts.hash.Hashes;

/** What an edit changes, apart from blanks and comments. */
final class EditDiff {
    private EditDiff() {}

    /** Number of changed lines of a unified diff. */
    static int changedLines(String diff) {
        return lines(diff).size();
    }

    /** Hash of the changed lines without blanks' and comments' differences; empty when nothing else is changed. */
    static Optional<String> hash(String diff) {
        List<String> normalized = new ArrayList<>();
        for (String line : lines(diff)) {
            String text = line.substring(1).replaceAll("\\s+", " ").strip();
            if (!text.isEmpty() && !text.startsWith("#")) {
                normalized.add(line.charAt(0) + text);
            }
        }
        return normalized.isEmpty()
                ? Optional.empty()
                : Optional.of(Hashes.sha256(String.join("\n", normalized).getBytes(StandardCharsets.UTF_8)));
    }

    private static List<String> lines(String diff) {
        List<String> changed = new ArrayList<>();
        boolean inHunk = false;
        for (String line : diff.split("\n", -1)) {
            if (line.startsWith("@@")) {
                inHunk = true;
            } else if (inHunk && (line.startsWith("+") || line.startsWith("-"))) {
                changed.add(line);
            }
        }
        return changed;
    }
}
