/** First answers under an Idempotency-Key. */
@NullMarked
package org.harnesslearning.store.idempotency;

import org.jspecify.annotations.NullMarked;
