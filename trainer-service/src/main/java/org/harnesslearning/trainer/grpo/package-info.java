/** Group-relative policy optimisation: groups, advantages, the objective, and the method that trains with them. */
@NullMarked
package org.harnesslearning.trainer.grpo;

import org.jspecify.annotations.NullMarked;
