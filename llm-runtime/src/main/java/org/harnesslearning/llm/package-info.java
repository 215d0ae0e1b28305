/** The model runtime as its callers see it: load a checkpoint, submit token prompts, receive tokens and logprobs. */
@NullMarked
package org.harnesslearning.llm;

import org.jspecify.annotations.NullMarked;
