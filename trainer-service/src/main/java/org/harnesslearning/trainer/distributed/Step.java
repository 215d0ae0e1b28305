package org.harnesslearning.trainer.distributed;

/**
 * One step of the optimiser.
 *
 * @param gradientNorm of the whole batch's gradients before clipping
 * @param applied false when a gradient was not finite: nothing changed, the batch is to be counted as dropped
 */
public record Step(double gradientNorm, boolean applied) {}
