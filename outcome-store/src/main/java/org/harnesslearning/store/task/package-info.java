/** Tasks that users gave, with their items. */
@NullMarked
package org.harnesslearning.store.task;

import org.jspecify.annotations.NullMarked;
