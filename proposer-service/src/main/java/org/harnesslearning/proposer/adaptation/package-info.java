/** The adaptation loop as a durable, resumable job, and its resource. */
@NullMarked
package org.harnesslearning.proposer.adaptation;

import org.jspecify.annotations.NullMarked;
