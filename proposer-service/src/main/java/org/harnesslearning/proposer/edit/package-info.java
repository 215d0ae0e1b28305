/**
 * The edit engine: reads a model's reply, finds the edits in it, and applies all of them to a harness or none.
 */
@NullMarked
package org.harnesslearning.proposer.edit;

import org.jspecify.annotations.NullMarked;
