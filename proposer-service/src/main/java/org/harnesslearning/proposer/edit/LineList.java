package org.harnesslearning.proposer.edit;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A file as a linked list of lines, so that a block costs its own size and not the file's.
 *
 * <p>Lines end at {@code \n} or {@code \r\n} and at nothing else. A byte order mark at the start is set aside. Node 0 is
 * the head of the ring and no line.
 */
final class LineList {
    static final int RING = 0;

    private static final byte NONE = 0;
    private static final byte LF = 1;
    private static final byte CRLF = 2;
    private static final char BYTE_ORDER_MARK = '\uFEFF';

    private final boolean marked;
    private final boolean finalLineEnded;
    private final byte dominant;
    private final List<LineIndex> indexes = new ArrayList<>();
    private final Work work;
    private final Texts texts;

    private int[] text;
    private byte[] ending;
    private int[] next;
    private int[] previous;
    /** By node: the neighbours in a list of the lines with the same text. */
    private int[] nextEqual;

    private int[] previousEqual;
    /** By text: one line with it, or {@link #RING}, and how many there are. */
    private int[] first = new int[16];

    private int[] count = new int[16];
    private int used = 1;
    private int size;
    private long chars;

    LineList(String source, Work work) {
        this.work = work;
        work.add(source.length());
        marked = !source.isEmpty() && source.charAt(0) == BYTE_ORDER_MARK;
        int capacity = 16;
        texts = new Texts(work);
        text = new int[capacity];
        ending = new byte[capacity];
        next = new int[capacity];
        previous = new int[capacity];
        nextEqual = new int[capacity];
        previousEqual = new int[capacity];
        int lf = 0;
        int crlf = 0;
        int last = RING;
        boolean ended = true;
        String line = null;
        for (int at = marked ? 1 : 0; at < source.length(); ) {
            int feed = source.indexOf('\n', at);
            if (feed < 0) {
                ended = false;
                last = insertAfter(last, source.substring(at), NONE);
                break;
            }
            boolean pair = feed > at && source.charAt(feed - 1) == '\r';
            if (pair) {
                crlf++;
            } else {
                lf++;
            }
            line = Texts.shared(source, at, pair ? feed - 1 : feed, line);
            last = insertAfter(last, line, pair ? CRLF : LF);
            at = feed + 1;
        }
        finalLineEnded = ended;
        dominant = crlf > lf ? CRLF : LF;
    }

    int size() {
        return size;
    }

    /** A bound of all node numbers. */
    int nodes() {
        return used;
    }

    /** Chars of all lines, endings not counted. */
    long chars() {
        return chars;
    }

    /** All lines seen, of the file and of SEARCH. */
    Texts texts() {
        return texts;
    }

    String text(int node) {
        return texts.text(text[node]);
    }

    /** The line behind a node; {@link #RING} behind the last. */
    int next(int node) {
        return next[node];
    }

    /** The line before a node; {@link #RING} before the first. */
    int previous(int node) {
        return previous[node];
    }

    int textOf(int node) {
        return text[node];
    }

    /** How many lines have a text. */
    int count(int number) {
        return number < count.length ? count[number] : 0;
    }

    /** A line with the text, {@link #RING} if there is none. */
    int firstEqual(int number) {
        return number < first.length ? first[number] : RING;
    }

    /** Another line with the same text, {@link #RING} behind the last. */
    int nextEqual(int node) {
        return nextEqual[node];
    }

    /** Takes an index of the file's texts that is kept up to date from now on. */
    <T extends LineIndex> T register(T index) {
        for (int number = 0; number < texts.size(); number++) {
            if (count(number) > 0) {
                index.added(number, count(number), true);
            }
        }
        indexes.add(index);
        return index;
    }

    /** Puts lines with the file's dominant ending in the place of {@code count} lines. */
    void replace(int first, int count, List<String> lines) {
        int before = first == RING ? RING : previous[first];
        int node = first;
        for (int i = 0; i < count; i++) {
            int following = next[node];
            remove(node);
            node = following;
        }
        int last = before;
        for (String line : lines) {
            last = insertAfter(last, line, dominant);
        }
    }

    /** One-based line numbers of nodes, in the order of the nodes given. */
    List<Integer> lineNumbers(int... nodes) {
        Integer[] numbers = new Integer[nodes.length];
        int line = 1;
        for (int node = next[RING]; node != RING; node = next[node], line++) {
            for (int i = 0; i < nodes.length; i++) {
                if (nodes[i] == node) {
                    numbers[i] = line;
                }
            }
        }
        work.add(line);
        return Arrays.asList(numbers);
    }

    /** Whether {@code one} stands before {@code other}. */
    boolean isBefore(int one, int other) {
        for (int node = next[RING]; node != RING; node = next[node]) {
            work.add(1);
            if (node == one) {
                return true;
            }
            if (node == other) {
                return false;
            }
        }
        throw new IllegalArgumentException("neither is a line");
    }

    /** The whole file: each line with its ending, the last one ended as the source's last line was. */
    String join() {
        StringBuilder out = new StringBuilder(Math.toIntExact(chars + 2L * size + 1));
        if (marked) {
            out.append(BYTE_ORDER_MARK);
        }
        for (int node = next[RING]; node != RING; node = next[node]) {
            out.append(text(node));
            if (next[node] == RING && !finalLineEnded) {
                break;
            }
            out.append((ending[node] == NONE ? dominant : ending[node]) == CRLF ? "\r\n" : "\n");
        }
        work.add(out.length());
        return out.toString();
    }

    private int insertAfter(int before, String line, byte lineEnding) {
        if (used == text.length) {
            int capacity = used * 2;
            text = Arrays.copyOf(text, capacity);
            ending = Arrays.copyOf(ending, capacity);
            next = Arrays.copyOf(next, capacity);
            previous = Arrays.copyOf(previous, capacity);
            nextEqual = Arrays.copyOf(nextEqual, capacity);
            previousEqual = Arrays.copyOf(previousEqual, capacity);
        }
        int node = used++;
        int number = texts.number(line);
        text[node] = number;
        ending[node] = lineEnding;
        int after = next[before];
        next[node] = after;
        previous[node] = before;
        next[before] = node;
        previous[after] = node;
        if (number >= first.length) {
            first = LineIndex.grow(first, number);
            count = LineIndex.grow(count, number);
        }
        int equal = first[number];
        nextEqual[node] = equal;
        previousEqual[node] = RING;
        if (equal != RING) {
            previousEqual[equal] = node;
        }
        first[number] = node;
        count[number]++;
        size++;
        chars += line.length();
        work.add(1);
        for (LineIndex index : indexes) {
            index.added(number, 1, count[number] == 1);
        }
        return node;
    }

    private void remove(int node) {
        next[previous[node]] = next[node];
        previous[next[node]] = previous[node];
        int number = text[node];
        if (previousEqual[node] == RING) {
            first[number] = nextEqual[node];
        } else {
            nextEqual[previousEqual[node]] = nextEqual[node];
        }
        if (nextEqual[node] != RING) {
            previousEqual[nextEqual[node]] = previousEqual[node];
        }
        count[number]--;
        size--;
        chars -= texts.text(number).length();
        work.add(1);
        for (LineIndex index : indexes) {
            index.removed(number, count[number] == 0);
        }
    }
}
