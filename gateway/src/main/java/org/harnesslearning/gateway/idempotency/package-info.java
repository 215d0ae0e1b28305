/** {@code Idempotency-Key}: a repeated call gets the first answer instead of a second effect. */
@NullMarked
package org.harnesslearning.gateway.idempotency;

import org.jspecify.annotations.NullMarked;
