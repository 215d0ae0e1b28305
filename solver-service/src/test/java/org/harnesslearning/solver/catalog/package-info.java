/** Tests of the model endpoint. */
@NullMarked
package org.harnesslearning.solver.catalog;

import org.jspecify.annotations.NullMarked;
