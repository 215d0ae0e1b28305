/** Adaptations, revisions and evaluations: their rounds, candidates, measurements and events. */
@NullMarked
package org.harnesslearning.store.run;

import org.jspecify.annotations.NullMarked;
