/** Data parallelism over PyTorch's process groups: one leading rank, workers that share each batch with it. */
@NullMarked
package org.harnesslearning.trainer.distributed;

import org.jspecify.annotations.NullMarked;
