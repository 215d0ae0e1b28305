package org.harnesslearning.trainer.distributed;

import java.util.List;
import org.harnesslearning.trainer.decoder.Objective;

/**
 * An objective that is data, so that each rank can compute its share: {@code Json} writes it and reads it again. It holds
 * what the loss needs by sequence (advantages, earlier log-probabilities) and the normaliser of the whole batch.
 */
public interface SharedObjective extends Objective {
    /**
     * The same loss, with the same normaliser, for some sequences of the batch.
     *
     * @param sequences their places in the batch, ascending
     */
    SharedObjective share(List<Integer> sequences);

    /** What was gathered while the loss was computed, such as the number of clipped tokens; always of one length. */
    double[] statistics();

    /** Combines the statistics of two shares: their sums, unless the objective says otherwise. */
    default double[] merge(double[] a, double[] b) {
        double[] sum = a.clone();
        for (int i = 0; i < sum.length; i++) {
            sum[i] += b[i];
        }
        return sum;
    }
}
