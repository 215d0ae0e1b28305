/** One round: the proposer's replies become candidates, and each ends in one outcome. */
@NullMarked
package org.harnesslearning.proposer.revision;

import org.jspecify.annotations.NullMarked;
