/** Models that the platform knows. */
@NullMarked
package org.harnesslearning.proposer.model;

import org.jspecify.annotations.NullMarked;
