/** Who is calling, as the gateway says. */
@NullMarked
package org.harnesslearning.proposer.access;

import org.jspecify.annotations.NullMarked;
