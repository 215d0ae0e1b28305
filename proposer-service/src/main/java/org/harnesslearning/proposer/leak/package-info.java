/** The leak lint: refuses edits that carry the task's own items into the harness. */
@NullMarked
package org.harnesslearning.proposer.leak;

import org.jspecify.annotations.NullMarked;
