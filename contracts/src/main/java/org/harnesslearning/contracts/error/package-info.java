/** The one error taxonomy, from throw to problem+json. */
@NullMarked
package org.harnesslearning.contracts.error;

import org.jspecify.annotations.NullMarked;
