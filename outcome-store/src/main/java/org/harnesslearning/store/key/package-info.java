/** Keys of the public API. */
@NullMarked
package org.harnesslearning.store.key;

import org.jspecify.annotations.NullMarked;
