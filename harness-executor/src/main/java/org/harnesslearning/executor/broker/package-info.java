/** The broker behind {@code env.llm}: counts, pays, calls the model, retries, and keeps the trace. */
@NullMarked
package org.harnesslearning.executor.broker;

import org.jspecify.annotations.NullMarked;
