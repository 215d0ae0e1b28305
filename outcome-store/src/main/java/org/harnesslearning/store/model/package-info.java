/** Versions of adapters, the names that they are served under, and promotions. */
@NullMarked
package org.harnesslearning.store.model;

import org.jspecify.annotations.NullMarked;
