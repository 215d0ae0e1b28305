/** Task families, splits of items, own tasks and scorers. */
@NullMarked
package org.harnesslearning.tasks;

import org.jspecify.annotations.NullMarked;
