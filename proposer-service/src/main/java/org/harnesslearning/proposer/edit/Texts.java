package org.harnesslearning.proposer.edit;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Numbers the different lines of one call, so that equal lines are looked at once, however often they stand. */
final class Texts {
    private final Map<String, Integer> numbers = new HashMap<>();
    private final Work work;
    private String[] texts = new String[16];
    private @Nullable String[] folded = new @Nullable String[16];
    private int size;
    private @Nullable String last;
    private int lastNumber;

    Texts(Work work) {
        this.work = work;
    }

    /** The number of a line; equal lines have equal numbers. */
    int number(String line) {
        work.add(1);
        work.add(line.length());
        if (line.equals(last)) {
            return lastNumber;
        }
        int number = numbers.computeIfAbsent(line, absent -> size);
        if (number == size) {
            if (size == texts.length) {
                texts = Arrays.copyOf(texts, size * 2);
                folded = Arrays.copyOf(folded, size * 2);
            }
            texts[size++] = line;
        }
        last = line;
        lastNumber = number;
        return number;
    }

    int[] numbers(Iterable<String> lines, int count) {
        int[] result = new int[count];
        int i = 0;
        for (String line : lines) {
            result[i++] = number(line);
        }
        return result;
    }

    /** How many different lines were seen. */
    int size() {
        return size;
    }

    String text(int number) {
        return texts[number];
    }

    /** The comparison form of tier {@link Tier#UNICODE}. */
    String folded(int number) {
        String known = folded[number];
        if (known == null) {
            work.add(texts[number].length() + 1L);
            known = Folding.fold(texts[number]);
            folded[number] = known;
        }
        return known;
    }

    /** {@code text[from, to)}, as the same object as {@code previous} if that is equal. */
    static String shared(String text, int from, int to, @Nullable String previous) {
        return previous != null && previous.length() == to - from && text.startsWith(previous, from)
                ? previous
                : text.substring(from, to);
    }
}
