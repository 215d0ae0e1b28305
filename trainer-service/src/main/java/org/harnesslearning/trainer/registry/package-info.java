/** Versions of adapters, the names under which they are served, and the decisions to promote them. */
@NullMarked
package org.harnesslearning.trainer.registry;

import org.jspecify.annotations.NullMarked;
