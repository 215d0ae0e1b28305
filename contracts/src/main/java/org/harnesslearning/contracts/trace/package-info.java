/** What names a piece of work in logs and traces, and how it passes from thread to thread and from service to service. */
@NullMarked
package org.harnesslearning.contracts.trace;

import org.jspecify.annotations.NullMarked;
