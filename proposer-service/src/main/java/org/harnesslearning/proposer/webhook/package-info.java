/** Signed webhooks: events of runs and of named harnesses, told to whoever registered for them. */
@NullMarked
package org.harnesslearning.proposer.webhook;

import org.jspecify.annotations.NullMarked;
