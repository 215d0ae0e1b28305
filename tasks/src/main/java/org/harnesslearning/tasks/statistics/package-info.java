/** Intervals, paired gains, noise and the gate. */
@NullMarked
package org.harnesslearning.tasks.statistics;

import org.jspecify.annotations.NullMarked;
