/** Named harnesses: versions, what is live, promotion and rollback. */
@NullMarked
package org.harnesslearning.proposer.live;

import org.jspecify.annotations.NullMarked;
