/** Scores of one harness on one split, through the executor. */
@NullMarked
package org.harnesslearning.proposer.evaluation;

import org.jspecify.annotations.NullMarked;
