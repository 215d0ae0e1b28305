/** Outcomes of a candidate: invalid, infrastructure failure, scored. */
@NullMarked
package org.harnesslearning.contracts.outcome;

import org.jspecify.annotations.NullMarked;
