/** What the trainer learns from: edits of teachers, and groups of samples of a policy with their rewards. */
@NullMarked
package org.harnesslearning.store.sample;

import org.jspecify.annotations.NullMarked;
