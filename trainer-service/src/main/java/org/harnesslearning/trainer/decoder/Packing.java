package org.harnesslearning.trainer.decoder;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The tokens of some sequences, one sequence after the other without padding.
 *
 * <p>Sequences of equal length lie next to each other, so that attention takes them together. The last token of each is
 * left out: nothing is predicted from it.
 *
 * @param ids tokens
 * @param positions place of each token in its sequence
 * @param runs sequences of equal length, in order
 * @param rows places of the tokens from which the completion tokens are predicted, in the sequences' given order
 * @param targets the completion tokens, likewise
 */
record Packing(long[] ids, long[] positions, List<Run> runs, long[] rows, long[] targets) {

    /**
     * Sequences of equal length.
     *
     * @param first place of their first token
     * @param count how many
     * @param length tokens of each
     */
    record Run(long first, long count, long length) {}

    static Packing of(List<Sequence> sequences) {
        List<Integer> order = IntStream.range(0, sequences.size())
                .boxed()
                .sorted(Comparator.comparing(i -> sequences.get(i).length()))
                .toList();
        int tokens = sequences.stream().mapToInt(s -> s.length() - 1).sum();
        int predicted = sequences.stream().mapToInt(s -> s.completion().length).sum();
        long[] ids = new long[tokens];
        long[] positions = new long[tokens];
        long[] starts = new long[sequences.size()];
        List<Run> runs = new ArrayList<>();
        int at = 0;
        for (int index : order) {
            Sequence sequence = sequences.get(index);
            int length = sequence.length() - 1;
            starts[index] = at;
            Run last = runs.isEmpty() ? null : runs.getLast();
            if (last != null && last.length() == length) {
                runs.set(runs.size() - 1, new Run(last.first(), last.count() + 1, length));
            } else {
                runs.add(new Run(at, 1, length));
            }
            for (int i = 0; i < length; i++, at++) {
                ids[at] = sequence.token(i);
                positions[at] = i;
            }
        }
        long[] rows = new long[predicted];
        long[] targets = new long[predicted];
        int next = 0;
        for (int index = 0; index < sequences.size(); index++) {
            Sequence sequence = sequences.get(index);
            for (int i = 0; i < sequence.completion().length; i++, next++) {
                rows[next] = starts[index] + sequence.prompt().length - 1 + i;
                targets[next] = sequence.completion()[i];
            }
        }
        return new Packing(ids, positions, List.copyOf(runs), rows, targets);
    }

    /** The ends (exclusive) of consecutive parts of a batch with at most so many tokens, or a single sequence. */
    static List<Integer> split(List<Sequence> sequences, int tokensAtOnce) {
        List<Integer> ends = new ArrayList<>();
        long tokens = 0;
        for (int i = 0; i < sequences.size(); i++) {
            int length = sequences.get(i).length();
            if (tokens > 0 && tokens + length > tokensAtOnce) {
                ends.add(i);
                tokens = 0;
            }
            tokens += length;
        }
        if (!sequences.isEmpty()) {
            ends.add(sequences.size());
        }
        return ends;
    }
}
