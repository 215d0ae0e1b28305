/** Benchmarks run by hand; they measure, tests never do. */
@NullMarked
package org.harnesslearning.benchmarks;

import org.jspecify.annotations.NullMarked;
