/** Checks of a harness before any model call is paid for it. */
@NullMarked
package org.harnesslearning.executor.check;

import org.jspecify.annotations.NullMarked;
