package org.harnesslearning.proposer.edit;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Differences between two harnesses, for people and for the leak lint. Lines end at {@code \n}. */
public final class UnifiedDiff {
    private static final int CONTEXT = 3;
    private static final String NO_NEWLINE = "\\ No newline at end of file\n";
    private static final Pattern TOKEN = Pattern.compile("[\\p{L}\\p{N}_]+|[^\\p{L}\\p{N}_\\s]");

    private UnifiedDiff() {}

    /**
     * The unified form of POSIX {@code diff -u} with three lines of context, which {@code patch} and {@code git apply}
     * read; empty if the texts are equal.
     *
     * @param beforeName name in the line {@code ---}
     * @param afterName name in the line {@code +++}
     */
    public static String of(String before, String after, String beforeName, String afterName) {
        if (before.equals(after)) {
            return "";
        }
        List<String> old = LineDiff.lines(before);
        List<String> fresh = LineDiff.lines(after);
        LineDiff diff = LineDiff.of(old, fresh);
        StringBuilder out = new StringBuilder();
        out.append("--- ").append(beforeName).append("\n+++ ").append(afterName).append('\n');
        int i = 0;
        int j = 0;
        while (i < old.size() || j < fresh.size()) {
            if (!diff.removed().get(i) && !diff.added().get(j)) {
                i++;
                j++;
                continue;
            }
            int startI = Math.max(0, i - CONTEXT);
            int startJ = j - (i - startI);
            List<String> body = new ArrayList<>();
            old.subList(startI, i).forEach(line -> body.add(" " + line));
            int unchanged = 0;
            // A hunk ends where more than twice the context is unchanged.
            while ((i < old.size() || j < fresh.size()) && unchanged <= 2 * CONTEXT) {
                if (i < old.size() && diff.removed().get(i)) {
                    body.add("-" + old.get(i++));
                    unchanged = 0;
                } else if (j < fresh.size() && diff.added().get(j)) {
                    body.add("+" + fresh.get(j++));
                    unchanged = 0;
                } else {
                    body.add(" " + old.get(i++));
                    j++;
                    unchanged++;
                }
            }
            int surplus = Math.max(0, unchanged - CONTEXT);
            body.subList(body.size() - surplus, body.size()).clear();
            range(out.append("@@ -"), startI, i - surplus);
            range(out.append(" +"), startJ, j - surplus);
            out.append(" @@\n");
            for (String line : body) {
                out.append(line);
                if (!line.endsWith("\n")) {
                    out.append('\n').append(NO_NEWLINE);
                }
            }
        }
        return out.toString();
    }

    /** Zero-based indexes of the lines of {@code after} that are not in {@code before}. */
    public static BitSet addedLines(String before, String after) {
        return LineDiff.of(LineDiff.lines(before), LineDiff.lines(after)).added();
    }

    /** The lines of {@code after} that are not in {@code before}, each with its line feed. */
    public static String addedText(String before, String after) {
        List<String> lines = LineDiff.lines(after);
        StringBuilder out = new StringBuilder();
        addedLines(before, after).stream().forEach(line -> out.append(lines.get(line)));
        return out.toString();
    }

    /**
     * How alike two texts are: twice the length of their longest common subsequence of words and signs, divided by the sum
     * of their lengths. Blanks do not count.
     *
     * @return from 0 (nothing in common) to 1 (equal words in equal order; also for two blank texts)
     */
    public static double similarity(String one, String other) {
        List<String> a = tokens(one);
        List<String> b = tokens(other);
        if (a.isEmpty() && b.isEmpty()) {
            return 1;
        }
        int different = LineDiff.of(a, b).removed().cardinality();
        return 2.0 * (a.size() - different) / (a.size() + b.size());
    }

    private static List<String> tokens(String text) {
        List<String> tokens = new ArrayList<>();
        Matcher matcher = TOKEN.matcher(text);
        while (matcher.find()) {
            tokens.add(matcher.group());
        }
        return tokens;
    }

    private static void range(StringBuilder out, int from, int to) {
        int count = to - from;
        // Of an empty range the line before it is named.
        out.append(count == 0 ? from : from + 1);
        if (count != 1) {
            out.append(',').append(count);
        }
    }
}
