/** Strict reading of request bodies: every fault is named with its pointer. */
@NullMarked
package org.harnesslearning.contracts.request;

import org.jspecify.annotations.NullMarked;
