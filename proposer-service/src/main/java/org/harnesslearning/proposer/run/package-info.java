/** What adaptations, revisions and evaluations share: the durable job, control, budget, progress and events. */
@NullMarked
package org.harnesslearning.proposer.run;

import org.jspecify.annotations.NullMarked;
