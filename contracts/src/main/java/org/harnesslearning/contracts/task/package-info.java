/** Tasks, splits, items and scorer references. */
@NullMarked
package org.harnesslearning.contracts.task;

import org.jspecify.annotations.NullMarked;
