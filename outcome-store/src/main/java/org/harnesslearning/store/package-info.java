/** What the stores share: ids, JSON columns, and the configuration that offers them as beans. */
@NullMarked
package org.harnesslearning.store;

import org.jspecify.annotations.NullMarked;
