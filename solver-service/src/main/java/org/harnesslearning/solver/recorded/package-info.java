/** Replies read from a file, for deterministic tests. */
@NullMarked
package org.harnesslearning.solver.recorded;

import org.jspecify.annotations.NullMarked;
