/** Values that are stored encrypted. */
@NullMarked
package org.harnesslearning.store.seal;

import org.jspecify.annotations.NullMarked;
