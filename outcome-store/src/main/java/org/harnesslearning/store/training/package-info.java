/** Training runs with their events, metrics and checkpoints. */
@NullMarked
package org.harnesslearning.store.training;

import org.jspecify.annotations.NullMarked;
