package org.harnesslearning.proposer.edit;

import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Finds runs of lines that are equal but for one uniform, non-zero shift of indentation.
 *
 * <p>"Equal up to a uniform shift" is an equivalence on runs of one length and passes on to their sub-runs, so
 * Knuth–Morris–Pratt works on it: a line is compared by its unindented text and, if a non-blank line stands before it in
 * the window, by how its indentation differs from that line's.
 */
final class ShiftIndex extends LineIndex {
    private static final byte SPACES = 1;
    private static final byte TABS = 2;

    private final UnaryOperator<String> fold;
    private int[] indent = new int[16];
    private byte[] unit = new byte[16];
    private boolean[] blank = new boolean[16];

    /**
     * @param fold applied to a line before anything else
     */
    ShiftIndex(LineList lines, UnaryOperator<String> fold, Work work) {
        super(lines, line -> Lines.strip(fold.apply(line)), work);
        this.fold = fold;
    }

    @Override
    void added(int node, String line) {
        super.added(node, line);
        if (node >= indent.length) {
            indent = grow(indent, node);
            unit = Arrays.copyOf(unit, indent.length);
            blank = Arrays.copyOf(blank, indent.length);
        }
        String folded = fold.apply(line);
        indent[node] = Lines.indent(folded);
        unit[node] = units(folded);
        blank[node] = indent[node] == folded.length();
    }

    /** Every place where SEARCH stands under a shift that REPLACE can follow. */
    Hits find(List<String> search, List<String> replace, boolean firstOnly) {
        int length = search.size();
        if (length > lines.size()) {
            return Hits.NONE;
        }
        Pattern pattern = new Pattern(search);
        if (!pattern.present || pattern.rarest < 0) {
            return Hits.NONE;
        }
        Shift shift = new Shift(pattern.units);
        for (String line : replace) {
            work.add(line.length() + 1L);
            if (!Lines.isBlank(line)) {
                shift.units |= units(line);
                shift.most = Math.min(shift.most, Lines.indent(line));
            }
        }
        if (shift.units == (SPACES | TABS)) {
            return Hits.NONE;
        }
        if ((long) count(pattern.key[pattern.rarest]) * length <= (long) lines.size() + length) {
            Hits hits = tryRarest(pattern, shift);
            if (hits.count() < 2 || !firstOnly) {
                return hits;
            }
        }
        return scan(pattern, shift, firstOnly);
    }

    private Hits tryRarest(Pattern pattern, Shift shift) {
        Hits hits = Hits.NONE;
        for (int node = firstOf(pattern.key[pattern.rarest]); node != ABSENT; node = followingOf(node)) {
            int by = indent[node] - pattern.indent[pattern.rarest];
            int start = back(node, pattern.rarest);
            if (start != LineList.RING && shift.allows(by) && stands(pattern, start, by, shift.units)) {
                hits = hits.and(start, by);
                if (hits.count() == 2) {
                    return hits;
                }
            }
        }
        return hits;
    }

    private boolean stands(Pattern pattern, int start, int by, int units) {
        int node = start;
        int seen = units;
        for (int i = 0; i < pattern.length; i++) {
            work.add(1);
            if (node == LineList.RING || keyOf(node) != pattern.key[i]) {
                return false;
            }
            if (!blank[node]) {
                seen |= unit[node];
                if (indent[node] - pattern.indent[i] != by || seen == (SPACES | TABS)) {
                    return false;
                }
            }
            node = lines.next(node);
        }
        return true;
    }

    private Hits scan(Pattern pattern, Shift shift, boolean firstOnly) {
        int length = pattern.length;
        int[] border = new int[length + 1];
        border[0] = -1;
        for (int i = 0, matched = -1; i < length; ) {
            work.add(1);
            while (matched >= 0 && !pattern.continues(matched, pattern.key[i], pattern.delta(i))) {
                matched = border[matched];
                work.add(1);
            }
            border[++i] = ++matched;
        }
        Hits hits = Hits.NONE;
        int matched = 0;
        int start = lines.next(LineList.RING);
        int index = 0;
        int lastIndent = 0;
        int lastSpaces = -1;
        int lastTabs = -1;
        for (int node = start; node != LineList.RING; node = lines.next(node), index++) {
            work.add(1);
            int delta = indent[node] - lastIndent;
            while (matched >= 0 && (matched == length || !pattern.continues(matched, keyOf(node), delta))) {
                int shorter = border[matched];
                for (int step = matched - shorter; step > 0; step--) {
                    start = lines.next(start);
                }
                work.add(matched - shorter);
                matched = shorter;
            }
            matched++;
            if (!blank[node]) {
                lastIndent = indent[node];
                lastSpaces = (unit[node] & SPACES) != 0 ? index : lastSpaces;
                lastTabs = (unit[node] & TABS) != 0 ? index : lastTabs;
            }
            if (matched == length) {
                int by = lastIndent - pattern.indent[pattern.last];
                int begin = index - length + 1;
                int seen = shift.units | (lastSpaces >= begin ? SPACES : 0) | (lastTabs >= begin ? TABS : 0);
                if (shift.allows(by) && seen != (SPACES | TABS)) {
                    hits = hits.and(start, by);
                    if (hits.count() == 2 || firstOnly) {
                        return hits;
                    }
                }
            }
        }
        return hits;
    }

    private static byte units(String line) {
        int units = 0;
        for (int at = 0; at < line.length() && Marker.isBlank(line.charAt(at)); at++) {
            units |= line.charAt(at) == ' ' ? SPACES : TABS;
        }
        return (byte) units;
    }

    /** What a place must allow: a shift that is one, in one unit, and that takes no more than REPLACE has. */
    private static final class Shift {
        int units;
        int most = Integer.MAX_VALUE;

        Shift(int units) {
            this.units = units;
        }

        boolean allows(int by) {
            return by != 0 && -(long) by <= most;
        }
    }

    private final class Pattern {
        final int length;
        final int[] key;
        final int[] indent;
        /** Index of the nearest non-blank line before each line; -1 if there is none. */
        final int[] before;

        final boolean present;
        int units;
        int rarest = -1;
        int last = -1;

        Pattern(List<String> search) {
            length = search.size();
            key = new int[length];
            indent = new int[length];
            before = new int[length];
            boolean all = true;
            for (int i = 0; i < length && all; i++) {
                String folded = fold.apply(search.get(i));
                key[i] = key(search.get(i));
                all = key[i] != ABSENT;
                before[i] = last;
                indent[i] = Lines.indent(folded);
                if (all && indent[i] < folded.length()) {
                    units |= units(folded);
                    last = i;
                    if (rarest < 0 || count(key[i]) < count(key[rarest])) {
                        rarest = i;
                    }
                }
            }
            present = all;
        }

        int delta(int i) {
            return before[i] < 0 ? 0 : indent[i] - indent[before[i]];
        }

        /** Whether a line can follow the first {@code matched} lines of this pattern. */
        boolean continues(int matched, int lineKey, int lineDelta) {
            return key[matched] == lineKey
                    && (before[matched] < 0 || isBlankAt(matched) || delta(matched) == lineDelta);
        }

        private boolean isBlankAt(int i) {
            return i == length - 1 ? last != i : before[i + 1] != i;
        }
    }
}
