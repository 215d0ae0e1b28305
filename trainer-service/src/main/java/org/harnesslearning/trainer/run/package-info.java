/** Training runs: the durable job around a training method, its checkpoints, metrics, events and its HTTP interface. */
@NullMarked
package org.harnesslearning.trainer.run;

import org.jspecify.annotations.NullMarked;
