package org.harnesslearning.proposer.edit;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Finds runs of lines by a normal form of each line.
 *
 * <p>Lines of equal form share a bucket. A SEARCH is tried at every line of its rarest form; where that could cost more
 * than reading the file once (many equal lines), Knuth–Morris–Pratt over the whole file is used instead. So a search never
 * takes more than O(file + SEARCH) steps, and usually takes O(SEARCH).
 */
class LineIndex {
    static final int ABSENT = -1;

    final LineList lines;
    final Work work;

    private final UnaryOperator<String> form;
    private final Map<String, Integer> keys = new HashMap<>();
    private int[] keyOf = new int[16];
    private int[] following = new int[16];
    private int[] preceding = new int[16];
    private int[] first = new int[16];
    private int[] count = new int[16];

    LineIndex(LineList lines, UnaryOperator<String> form, Work work) {
        this.lines = lines;
        this.form = form;
        this.work = work;
    }

    /** Every place where the lines of {@code search} stand; stops at the second, or at the first if that is enough. */
    Hits find(List<String> search, boolean firstOnly) {
        int length = search.size();
        if (length > lines.size()) {
            return Hits.NONE;
        }
        int[] pattern = new int[length];
        int rarest = 0;
        for (int i = 0; i < length; i++) {
            pattern[i] = key(search.get(i));
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
        for (int node = firstOf(pattern[rarest]); node != ABSENT; node = followingOf(node)) {
            int start = back(node, rarest);
            if (start != LineList.RING && stands(pattern, start)) {
                hits = hits.and(start, 0);
                if (hits.count() == 2) {
                    return hits;
                }
            }
        }
        return hits;
    }

    private boolean stands(int[] pattern, int start) {
        int node = start;
        for (int wanted : pattern) {
            work.add(1);
            if (node == LineList.RING || keyOf[node] != wanted) {
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
            int key = keyOf[node];
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

    /** The key of a line's form; {@link #ABSENT} if no line of the file has it. */
    final int key(String line) {
        work.add(line.length() + 1L);
        Integer key = keys.get(form.apply(line));
        return key == null || count[key] == 0 ? ABSENT : key;
    }

    final int keyOf(int node) {
        return keyOf[node];
    }

    final int count(int key) {
        return count[key];
    }

    final int firstOf(int key) {
        return first[key];
    }

    final int followingOf(int node) {
        return following[node];
    }

    /** Takes in a line that was added to the file. */
    void added(int node, String line) {
        work.add(line.length() + 1L);
        int key = keys.computeIfAbsent(form.apply(line), absent -> keys.size());
        if (key >= first.length) {
            first = grow(first, key);
            count = grow(count, key);
        }
        if (node >= keyOf.length) {
            keyOf = grow(keyOf, node);
            following = grow(following, node);
            preceding = grow(preceding, node);
        }
        int head = count[key] == 0 ? ABSENT : first[key];
        keyOf[node] = key;
        following[node] = head;
        preceding[node] = ABSENT;
        if (head != ABSENT) {
            preceding[head] = node;
        }
        first[key] = node;
        count[key]++;
    }

    /** Forgets a line that was removed from the file. */
    void removed(int node) {
        work.add(1);
        int key = keyOf[node];
        if (preceding[node] == ABSENT) {
            first[key] = following[node];
        } else {
            following[preceding[node]] = following[node];
        }
        if (following[node] != ABSENT) {
            preceding[following[node]] = preceding[node];
        }
        count[key]--;
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
