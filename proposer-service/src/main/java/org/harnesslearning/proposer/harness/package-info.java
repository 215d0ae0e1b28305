/** Harness sources and their differences. */
@NullMarked
package org.harnesslearning.proposer.harness;

import org.jspecify.annotations.NullMarked;
