package org.harnesslearning.proposer.edit;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The longest common subsequence of two sequences, by Myers, "An O(ND) Difference Algorithm and Its Variations",
 * Algorithmica 1, 1986.
 *
 * <p>Texts that differ in more than {@link #MOST_EDITS} elements between their common head and tail are taken to differ
 * there wholly: still a correct difference, only not the smallest, and never quadratic in hostile input.
 */
final class LineDiff {
    /** Bounds memory at the square of this in ints, 16 MB. */
    private static final int MOST_EDITS = 2_000;

    private final BitSet removed = new BitSet();
    private final BitSet added = new BitSet();

    private LineDiff() {}

    /** Lines as {@link UnifiedDiff} sees them: each with its line feed, the last one perhaps without. */
    static List<String> lines(String text) {
        List<String> lines = new ArrayList<>();
        int at = 0;
        while (at < text.length()) {
            int feed = text.indexOf('\n', at);
            int end = feed < 0 ? text.length() : feed + 1;
            lines.add(text.substring(at, end));
            at = end;
        }
        return lines;
    }

    static LineDiff of(List<String> before, List<String> after) {
        Map<String, Integer> numbers = new HashMap<>();
        int[] a = numbers(before, numbers);
        int[] b = numbers(after, numbers);
        int head = 0;
        while (head < a.length && head < b.length && a[head] == b[head]) {
            head++;
        }
        int tail = 0;
        while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] == b[b.length - 1 - tail]) {
            tail++;
        }
        LineDiff diff = new LineDiff();
        diff.myers(a, b, head, a.length - tail, b.length - tail);
        return diff;
    }

    /** Indexes of elements of the first sequence that are not in the second. */
    BitSet removed() {
        return removed;
    }

    /** Indexes of elements of the second sequence that are not in the first. */
    BitSet added() {
        return added;
    }

    private void myers(int[] a, int[] b, int from, int endA, int endB) {
        int n = endA - from;
        int m = endB - from;
        int most = Math.min(n + m, MOST_EDITS);
        List<int[]> history = new ArrayList<>();
        int[] furthest = new int[2 * most + 3];
        int centre = most + 1;
        for (int d = 0; d <= most; d++) {
            for (int k = -d; k <= d; k += 2) {
                int x = k == -d || k != d && furthest[centre + k - 1] < furthest[centre + k + 1]
                        ? furthest[centre + k + 1]
                        : furthest[centre + k - 1] + 1;
                int y = x - k;
                while (x < n && y < m && a[from + x] == b[from + y]) {
                    x++;
                    y++;
                }
                furthest[centre + k] = x;
                if (x >= n && y >= m) {
                    walkBack(history, from, n, m, d);
                    return;
                }
            }
            int[] row = new int[2 * d + 1];
            System.arraycopy(furthest, centre - d, row, 0, row.length);
            history.add(row);
        }
        removed.set(from, endA);
        added.set(from, endB);
    }

    private void walkBack(List<int[]> history, int from, int n, int m, int edits) {
        int x = n;
        int y = m;
        for (int d = edits; d > 0; d--) {
            int[] row = history.get(d - 1);
            int k = x - y;
            // Row d - 1 holds the diagonals from -(d - 1) to d - 1.
            boolean down = k == -d || k != d && at(row, d - 1, k - 1) < at(row, d - 1, k + 1);
            int before = down ? k + 1 : k - 1;
            int beforeX = at(row, d - 1, before);
            int beforeY = beforeX - before;
            if (down) {
                added.set(from + beforeY);
            } else {
                removed.set(from + beforeX);
            }
            x = beforeX;
            y = beforeY;
        }
    }

    /** Diagonals outside a row were never reached. */
    private static int at(int[] row, int d, int k) {
        return k < -d || k > d ? -1 : row[k + d];
    }

    private static int[] numbers(List<String> lines, Map<String, Integer> numbers) {
        int[] result = new int[lines.size()];
        for (int i = 0; i < result.length; i++) {
            Integer known = numbers.putIfAbsent(lines.get(i), numbers.size());
            result[i] = known == null ? numbers.size() - 1 : known;
        }
        return result;
    }
}
