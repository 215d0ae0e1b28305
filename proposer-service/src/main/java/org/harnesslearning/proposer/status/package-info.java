/** What the whole platform does now. */
@NullMarked
package org.harnesslearning.proposer.status;

import org.jspecify.annotations.NullMarked;
