/** Tests of the executor service, and what they share. */
@NullMarked
package org.harnesslearning.executor;

import org.jspecify.annotations.NullMarked;
