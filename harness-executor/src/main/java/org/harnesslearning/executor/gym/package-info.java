/** Generates and scores the items of Reasoning Gym in a container of their own. */
@NullMarked
package org.harnesslearning.executor.gym;

import org.jspecify.annotations.NullMarked;
