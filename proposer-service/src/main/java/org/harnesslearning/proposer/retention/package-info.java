/** Deletes what is old: finished runs, deliveries of webhooks, first answers. */
@NullMarked
package org.harnesslearning.proposer.retention;

import org.jspecify.annotations.NullMarked;
