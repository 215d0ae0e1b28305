/** Intervals, paired gains, noise and the gate. */
@NullMarked
package org.harnesslearning.proposer.statistics;

import org.jspecify.annotations.NullMarked;
