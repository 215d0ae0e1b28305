/** Who is calling, as the gateway says. */
@NullMarked
package org.harnesslearning.contracts.access;

import org.jspecify.annotations.NullMarked;
