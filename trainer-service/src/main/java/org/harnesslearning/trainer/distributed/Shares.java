package org.harnesslearning.trainer.distributed;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.harnesslearning.trainer.decoder.Sequence;

/** Splits a batch so that all ranks have about the same number of tokens: the slowest one sets the pace. */
final class Shares {
    private Shares() {}

    /** The places of each rank's sequences, ascending; a rank may have none. */
    static List<List<Integer>> of(List<Sequence> batch, int ranks) {
        List<List<Integer>> shares = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            shares.add(new ArrayList<>());
        }
        long[] load = new long[ranks];
        List<Integer> longestFirst = IntStream.range(0, batch.size())
                .boxed()
                .sorted(Comparator.comparingInt((Integer i) -> -length(batch.get(i))))
                .toList();
        for (int place : longestFirst) {
            int least = 0;
            for (int rank = 1; rank < ranks; rank++) {
                if (load[rank] < load[least]) {
                    least = rank;
                }
            }
            load[least] += length(batch.get(place));
            shares.get(least).add(place);
        }
        shares.forEach(share -> share.sort(Comparator.naturalOrder()));
        return shares;
    }

    private static int length(Sequence sequence) {
        return sequence.prompt().length + sequence.completion().length;
    }
}
