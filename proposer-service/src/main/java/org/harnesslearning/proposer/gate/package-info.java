/** Gates: whether a result may go on, and which questions went from right to wrong. */
@NullMarked
package org.harnesslearning.proposer.gate;

import org.jspecify.annotations.NullMarked;
