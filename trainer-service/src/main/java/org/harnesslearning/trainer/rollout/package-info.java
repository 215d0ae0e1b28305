/** Sampling edits over the running platform: which states, in which order, and what came of them, by way of Postgres. */
@NullMarked
package org.harnesslearning.trainer.rollout;

import org.jspecify.annotations.NullMarked;
