/** Tests of the model endpoint. */
@NullMarked
package org.harnesslearning.solver.inference;

import org.jspecify.annotations.NullMarked;
