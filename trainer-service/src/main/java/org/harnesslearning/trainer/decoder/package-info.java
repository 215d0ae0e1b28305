/** The decoder that is trained: a frozen base with low-rank adapters, forward and backward, on processors and GPUs. */
@NullMarked
package org.harnesslearning.trainer.decoder;

import org.jspecify.annotations.NullMarked;
