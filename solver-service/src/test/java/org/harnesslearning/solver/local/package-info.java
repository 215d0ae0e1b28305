/** Tests of local models' texts. */
@NullMarked
package org.harnesslearning.solver.local;

import org.jspecify.annotations.NullMarked;
