/** Webhooks, their deliveries and every try of one. */
@NullMarked
package org.harnesslearning.store.webhook;

import org.jspecify.annotations.NullMarked;
