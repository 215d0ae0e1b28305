package org.harnesslearning.proposer.edit;

import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;

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

    private static final byte BLANK = 4;
    private static final byte KNOWN = 8;

    private final IntFunction<String> fold;
    /** By text: number of indentation characters. */
    private int[] indentOfText = new int[16];
    /** By text: units of indentation, whether it is blank, whether it has been looked at. */
    private byte[] flagsOfText = new byte[16];
    /**
     * @param fold from the number of a text to what is compared but for blanks at both sides
     */
    ShiftIndex(LineList lines, IntFunction<String> fold, Work work) {
        super(lines, text -> Lines.strip(fold.apply(text)), work);
        this.fold = fold;
    }

    @Override
    void added(int text, int lineCount, boolean fresh) {
        super.added(text, lineCount, fresh);
        flags(text);
    }

    private byte flags(int text) {
        if (text >= flagsOfText.length) {
            indentOfText = grow(indentOfText, text);
            flagsOfText = Arrays.copyOf(flagsOfText, indentOfText.length);
        }
        if (flagsOfText[text] == 0) {
            String line = fold.apply(text);
            int blanks = Lines.indent(line);
            work.add(blanks + 1L);
            indentOfText[text] = blanks;
            flagsOfText[text] = (byte) (KNOWN | units(line) | (blanks == line.length() ? BLANK : 0));
        }
        return flagsOfText[text];
    }

    /** Every place where SEARCH stands under a shift that REPLACE can follow. */
    Hits find(int[] search, List<String> replace, boolean firstOnly) {
        int length = search.length;
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
        int key = pattern.key[pattern.rarest];
        for (int text = firstText(key); text != ABSENT; text = nextText(text)) {
            int by = indentOfText[text] - pattern.indent[pattern.rarest];
            if (!shift.allows(by)) {
                work.add(1);
                continue;
            }
            for (int node = lines.firstEqual(text); node != LineList.RING; node = lines.nextEqual(node)) {
                int start = back(node, pattern.rarest);
                if (start != LineList.RING && stands(pattern, start, by, shift.units)) {
                    hits = hits.and(start, by);
                    if (hits.count() == 2) {
                        return hits;
                    }
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
            int text = lines.textOf(node);
            int flags = flagsOfText[text];
            if ((flags & BLANK) == 0) {
                seen |= flags & (SPACES | TABS);
                if (indentOfText[text] - pattern.indent[i] != by || seen == (SPACES | TABS)) {
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
            int text = lines.textOf(node);
            int flags = flagsOfText[text];
            int delta = indentOfText[text] - lastIndent;
            while (matched >= 0 && (matched == length || !pattern.continues(matched, keyOf(node), delta))) {
                int shorter = border[matched];
                for (int step = matched - shorter; step > 0; step--) {
                    start = lines.next(start);
                }
                work.add(matched - shorter);
                matched = shorter;
            }
            matched++;
            if ((flags & BLANK) == 0) {
                lastIndent = indentOfText[text];
                lastSpaces = (flags & SPACES) != 0 ? index : lastSpaces;
                lastTabs = (flags & TABS) != 0 ? index : lastTabs;
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

        Pattern(int[] search) {
            length = search.length;
            key = new int[length];
            indent = new int[length];
            before = new int[length];
            boolean all = true;
            for (int i = 0; i < length && all; i++) {
                byte flags = flags(search[i]);
                key[i] = key(search[i]);
                all = key[i] != ABSENT;
                before[i] = last;
                indent[i] = indentOfText[search[i]];
                if (all && (flags & BLANK) == 0) {
                    units |= flags & (SPACES | TABS);
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
