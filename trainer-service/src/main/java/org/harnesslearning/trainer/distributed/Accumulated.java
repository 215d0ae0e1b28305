package org.harnesslearning.trainer.distributed;

/**
 * What one batch came to.
 *
 * @param loss of the whole batch
 * @param statistics of its objective, combined over all ranks
 */
public record Accumulated(double loss, double[] statistics) {}
