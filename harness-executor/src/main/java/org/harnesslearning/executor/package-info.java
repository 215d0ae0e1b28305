/** The executor service: its application and its HTTP edge. */
@NullMarked
package org.harnesslearning.executor;

import org.jspecify.annotations.NullMarked;
