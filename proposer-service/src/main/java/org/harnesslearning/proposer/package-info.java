/** The proposer service: edits of harnesses, single revisions and the adaptation loop. */
@NullMarked
package org.harnesslearning.proposer;

import org.jspecify.annotations.NullMarked;
