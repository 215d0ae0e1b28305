package org.harnesslearning.llm.engine;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decides which row a prompt goes to and which finished rows are kept for later prompts.
 *
 * <p>Rows in use by running samples must lie at 0 … n − 1 for a step, so rows are moved when samples end. A finished
 * row stays valid until it is needed; the one whose loss costs the fewest tokens goes first.
 */
final class Rows {

    private final Decoder decoder;
    private final boolean reuse;
    private final List<Row> rows = new ArrayList<>();
    private long clock;

    Rows(Decoder decoder, boolean reuse) {
        this.decoder = decoder;
        this.reuse = reuse;
        for (int i = 0; i < decoder.rows(); i++) {
            rows.add(new Row(i, decoder.maxSequence()));
        }
    }

    /** Whether a row is free to be taken. */
    boolean anyFree() {
        return rows.stream().anyMatch(row -> !row.held());
    }

    /**
     * Takes a row for a prompt and fills it with as much of the prompt as some row holds already.
     *
     * @param atMost most tokens to reuse; one less than the prompt where its last token must be computed
     * @param adapter hash of the adapter that the prompt is for, empty for none
     */
    Row take(int[] prompt, int atMost, String adapter) {
        Row donor = null;
        int shared = 0;
        if (reuse) {
            for (Row row : rows) {
                int common = Math.min(atMost, row.shared(prompt, adapter));
                if (common > shared) {
                    donor = row;
                    shared = common;
                }
            }
        }
        if (donor != null && !donor.held() && donor.length() - shared <= shared / 4) {
            donor.truncate(shared); // little is lost by using it in place
            donor.hold(++clock);
            return donor;
        }
        Row target = cheapest(donor);
        if (target == donor) {
            target.truncate(shared);
        } else if (donor == null) {
            target.reset(adapter);
        } else {
            decoder.copy(donor.index(), target.index(), shared);
            target.copyOf(donor, shared);
        }
        target.hold(++clock);
        return target;
    }

    /** Takes a row and copies a whole prompt into it; null if no row holds all of it. */
    @Nullable
    Row takeCopy(int[] prompt, String adapter) {
        for (Row donor : rows) {
            if (donor.shared(prompt, adapter) == prompt.length) {
                if (!donor.held() && donor.length() == prompt.length) {
                    donor.hold(++clock);
                    return donor;
                }
                Row target = cheapest(donor);
                if (target == donor) {
                    target.truncate(prompt.length);
                } else {
                    decoder.copy(donor.index(), target.index(), prompt.length);
                    target.copyOf(donor, prompt.length);
                }
                target.hold(++clock);
                return target;
            }
        }
        return null;
    }

    /** Gives a row back; what it holds may serve later prompts. */
    void release(Row row) {
        row.release(++clock);
    }

    /** Drops what all rows hold. */
    void forget() {
        rows.forEach(row -> row.truncate(0));
    }

    /** Moves the given rows to 0 … n − 1, in no particular order. */
    void compact(List<Row> running) {
        List<Integer> holes = new ArrayList<>();
        for (int i = 0; i < running.size(); i++) {
            if (!running.contains(rows.get(i))) {
                holes.add(i);
            }
        }
        for (Row row : running) {
            if (row.index() >= running.size()) {
                exchange(row, rows.get(holes.removeLast()));
            }
        }
    }

    private void exchange(Row first, Row second) {
        decoder.swap(first.index(), first.length(), second.index(), second.length());
        int index = first.index();
        first.moveTo(second.index());
        second.moveTo(index);
        rows.set(first.index(), first);
        rows.set(second.index(), second);
    }

    /** The free row that is missed least: fewest tokens that no other row holds, then longest unused. */
    private Row cheapest(@Nullable Row donor) {
        Row best = null;
        int bestLoss = Integer.MAX_VALUE;
        for (Row row : rows) {
            if (row.held()) {
                continue;
            }
            int loss = row == donor ? row.length() : row.length() - mostShared(row);
            if (best == null || loss < bestLoss || loss == bestLoss && row.lastUse() < best.lastUse()) {
                best = row;
                bestLoss = loss;
            }
        }
        if (best == null) {
            throw new IllegalStateException("no free row");
        }
        return best;
    }

    private int mostShared(Row row) {
        int most = 0;
        for (Row other : rows) {
            if (other != row) {
                most = Math.max(most, row.shared(other));
            }
        }
        return most;
    }
}
