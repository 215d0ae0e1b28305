/** Runs decoders: one thread a model, slots for sequences, continuous batching, prefix reuse. */
@NullMarked
package org.harnesslearning.llm.engine;

import org.jspecify.annotations.NullMarked;
