/** What the outcome of an edit is worth to the training, and which outcomes are worth nothing at all. */
@NullMarked
package org.harnesslearning.trainer.reward;

import org.jspecify.annotations.NullMarked;
