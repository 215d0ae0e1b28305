package org.harnesslearning.llm.engine;

import java.util.Arrays;

/** One row of the cache: which tokens its cells stand for, and whether somebody is using it. */
final class Row {

    private final int[] tokens;
    private int index;
    private int length;
    private String adapter = "";
    private boolean held;
    private long lastUse;

    Row(int index, int maxSequence) {
        this.index = index;
        this.tokens = new int[maxSequence];
    }

    int index() {
        return index;
    }

    void moveTo(int newIndex) {
        index = newIndex;
    }

    /** Cells that hold valid keys and values. */
    int length() {
        return length;
    }

    boolean held() {
        return held;
    }

    long lastUse() {
        return lastUse;
    }

    void hold(long now) {
        held = true;
        lastUse = now;
    }

    void release(long now) {
        held = false;
        lastUse = now;
    }

    void truncate(int cells) {
        length = cells;
    }

    void append(int token) {
        tokens[length++] = token;
    }

    void append(int[] source, int from, int to) {
        System.arraycopy(source, from, tokens, length, to - from);
        length += to - from;
    }

    /** Drops all cells; later ones are computed with this adapter's weights, or with the base's alone (empty). */
    void reset(String adapterHash) {
        length = 0;
        adapter = adapterHash;
    }

    /** Takes over the first cells of another row, which have been copied on the device. */
    void copyOf(Row other, int cells) {
        System.arraycopy(other.tokens, 0, tokens, 0, cells);
        length = cells;
        adapter = other.adapter;
    }

    /** How many tokens at the start of {@code prompt} this row begins with, computed with the same adapter. */
    int shared(int[] prompt, String adapterHash) {
        if (!adapter.equals(adapterHash)) {
            return 0;
        }
        int limit = Math.min(length, prompt.length);
        int mismatch = Arrays.mismatch(tokens, 0, limit, prompt, 0, limit);
        return mismatch < 0 ? limit : mismatch;
    }

    /** How many cells at its start this row has in common with another. */
    int shared(Row other) {
        if (!adapter.equals(other.adapter)) {
            return 0;
        }
        int limit = Math.min(length, other.length);
        int mismatch = Arrays.mismatch(tokens, 0, limit, other.tokens, 0, limit);
        return mismatch < 0 ? limit : mismatch;
    }
}
