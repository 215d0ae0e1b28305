/** Sources of harnesses, by content hash. */
@NullMarked
package org.harnesslearning.store.harness;

import org.jspecify.annotations.NullMarked;
