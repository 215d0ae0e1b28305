/** Tests of the model endpoint. */
@NullMarked
package org.harnesslearning.solver;

import org.jspecify.annotations.NullMarked;
