/** Tests of Reasoning Gym in its container. */
@NullMarked
package org.harnesslearning.executor.gym;

import org.jspecify.annotations.NullMarked;
