/** The optimiser of the adapter's weights and its learning-rate schedules. */
@NullMarked
package org.harnesslearning.trainer.optimizer;

import org.jspecify.annotations.NullMarked;
