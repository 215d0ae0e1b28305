package org.harnesslearning.llm.tokenizer;

import java.util.Arrays;

/** A growing array of token ids. */
final class IdBuffer {
    private int[] ids = new int[256];
    private int size;

    void add(int id) {
        reserve(1);
        ids[size++] = id;
    }

    void add(int[] more) {
        reserve(more.length);
        System.arraycopy(more, 0, ids, size, more.length);
        size += more.length;
    }

    int[] toArray() {
        return Arrays.copyOf(ids, size);
    }

    private void reserve(int more) {
        if (size + more > ids.length) {
            ids = Arrays.copyOf(ids, Math.max(2 * ids.length, size + more));
        }
    }
}
