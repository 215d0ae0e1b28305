package org.harnesslearning.proposer.edit;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Finds runs of lines by a normal form of each line.
 *
 * <p>Forms belong to texts, not to lines, so an index costs the file's different texts. A SEARCH is tried at every line of its rarest form; where that could cost more
 * than reading the file once (many equal lines), Knuth–Morris–Pratt over the whole file is used instead. So a search never
 * takes more than O(file + SEARCH) steps, and usually takes O(SEARCH).
 */
class LineIndex {
    static final int ABSENT = -1;

    final LineList lines;
    final Work work;

    private final @Nullable IntFunction<String> form;
    private final Map<String, Integer> keys = new HashMap<>();
    /** By text: its key plus one, 0 where that is not yet known. */
    private int[] keyOfText = new int[16];
    /** By text: the neighbours in a list of the texts that stand in the file and have the same key. */
    private int[] nextText = new int[16];

    private int[] previousText = new int[16];
    /** By key: one such text, or {@link #ABSENT}, and how many lines have the key. */
    private int[] firstText = new int[16];

    private int[] count = new int[16];

    /**
     * @param form from the number of a text to the form that is compared; null if the text itself is
     */
    LineIndex(LineList lines, @Nullable IntFunction<String> form, Work work) {
        this.lines = lines;
        this.form = form;
        this.work = work;
    }

    /** Every place where the texts of {@code search} stand; stops at the second, or at the first if that is enough. */
    Hits find(int[] search, boolean firstOnly) {
        int length = search.length;
        if (length > lines.size()) {
            return Hits.NONE;
        }
        int[] pattern = new int[length];
        int rarest = 0;
        for (int i = 0; i < length; i++) {
            pattern[i] = i > 0 && search[i] == search[i - 1] ? pattern[i - 1] : key(search[i]);
            if (pattern[i] == ABSENT) {
                return Hits.NONE;
            }
            if (count(pattern[i]) < count(pattern[rarest])) {
                rarest = i;
            }
        }
        if ((long) count(pattern[rarest]) * length <= (long) lines.size() + length) {
            Hits hits = tryRarest(pattern, rarest);
            if (hits.count() < 2 || !firstOnly) {
                return hits;
            }
        }
        return scan(pattern, firstOnly);
    }

    private Hits tryRarest(int[] pattern, int rarest) {
        Hits hits = Hits.NONE;
        for (int text = firstText(pattern[rarest]); text != ABSENT; text = nextText(text)) {
            for (int node = lines.firstEqual(text); node != LineList.RING; node = lines.nextEqual(node)) {
                int start = back(node, rarest);
                if (start != LineList.RING && stands(pattern, start)) {
                    hits = hits.and(start, 0);
                    if (hits.count() == 2) {
                        return hits;
                    }
                }
            }
        }
        return hits;
    }

    private boolean stands(int[] pattern, int start) {
        int node = start;
        for (int wanted : pattern) {
            work.add(1);
            if (node == LineList.RING || keyOf(node) != wanted) {
                return false;
            }
            node = lines.next(node);
        }
        return true;
    }

    /** Knuth, Morris, Pratt, "Fast pattern matching in strings", SIAM J. Comput. 6(2), 1977. */
    private Hits scan(int[] pattern, boolean firstOnly) {
        int length = pattern.length;
        int[] border = new int[length + 1];
        border[0] = -1;
        for (int i = 0, matched = -1; i < length; ) {
            work.add(1);
            while (matched >= 0 && pattern[i] != pattern[matched]) {
                matched = border[matched];
                work.add(1);
            }
            border[++i] = ++matched;
        }
        Hits hits = Hits.NONE;
        int matched = 0;
        int start = lines.next(LineList.RING);
        for (int node = start; node != LineList.RING; node = lines.next(node)) {
            work.add(1);
            int key = keyOf(node);
            while (matched >= 0 && (matched == length || pattern[matched] != key)) {
                // The window's first line moves on by as much as the match shrinks.
                int shorter = border[matched];
                for (int step = matched - shorter; step > 0; step--) {
                    start = lines.next(start);
                }
                work.add(matched - shorter);
                matched = shorter;
            }
            matched++;
            if (matched == length) {
                hits = hits.and(start, 0);
                if (hits.count() == 2 || firstOnly) {
                    return hits;
                }
            }
        }
        return hits;
    }

    /** The line {@code steps} before a node, or {@link LineList#RING}. */
    final int back(int node, int steps) {
        int at = node;
        for (int i = 0; i < steps && at != LineList.RING; i++) {
            work.add(1);
            at = lines.previous(at);
        }
        return at;
    }

    /** The key of a text's form; {@link #ABSENT} if no line of the file has it. */
    final int key(int text) {
        int key = keyOfText(text);
        return key >= count.length || count[key] == 0 ? ABSENT : key;
    }

    private int keyOfText(int text) {
        work.add(1);
        if (form == null) {
            return text;
        }
        if (text >= keyOfText.length) {
            keyOfText = grow(keyOfText, text);
        }
        if (keyOfText[text] == 0) {
            String formed = form.apply(text);
            work.add(formed.length() + 1L);
            keyOfText[text] = keys.computeIfAbsent(formed, absent -> keys.size()) + 1;
        }
        return keyOfText[text] - 1;
    }

    /** The key of a line of the file. */
    final int keyOf(int node) {
        int text = lines.textOf(node);
        return form == null ? text : keyOfText[text] - 1;
    }

    /** How many lines have a key. */
    final int count(int key) {
        return count[key];
    }

    /** A text of the file with a key that {@link #key} gave. */
    final int firstText(int key) {
        return firstText[key];
    }

    /** Another text of the file with the same key; {@link #ABSENT} behind the last. */
    final int nextText(int text) {
        return nextText[text];
    }

    /**
     * Takes in lines that were added to the file.
     *
     * @param fresh whether the file had no line of that text before
     */
    void added(int text, int lineCount, boolean fresh) {
        int key = keyOfText(text);
        if (key >= count.length) {
            firstText = grow(firstText, key);
            count = grow(count, key);
        }
        if (fresh) {
            if (text >= nextText.length) {
                nextText = grow(nextText, text);
                previousText = grow(previousText, text);
            }
            int head = count[key] == 0 ? ABSENT : firstText[key];
            nextText[text] = head;
            previousText[text] = ABSENT;
            if (head != ABSENT) {
                previousText[head] = text;
            }
            firstText[key] = text;
        }
        count[key] += lineCount;
    }

    /**
     * Forgets a line that was removed from the file.
     *
     * @param last whether the file has no line of that text any more
     */
    void removed(int text, boolean last) {
        int key = keyOfText(text);
        count[key]--;
        if (last) {
            int before = previousText[text];
            int after = nextText[text];
            if (before == ABSENT) {
                firstText[key] = after;
            } else {
                nextText[before] = after;
            }
            if (after != ABSENT) {
                previousText[after] = before;
            }
        }
    }

    static int[] grow(int[] array, int index) {
        return Arrays.copyOf(array, Math.max(index + 1, array.length * 2));
    }

    /**
     * Places that fit, the first one or two of them.
     *
     * @param first node where the first begins
     * @param firstShift indentation to add to REPLACE there
     * @param second node where another one begins; null if there is none
     */
    record Hits(
            int count, int first, int firstShift, @Nullable Integer second) {
        static final Hits NONE = new Hits(0, ABSENT, 0, null);

        Hits and(int node, int shift) {
            return count == 0 ? new Hits(1, node, shift, null) : new Hits(2, first, firstShift, node);
        }
    }
}
