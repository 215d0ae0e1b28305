/** Reads GGUF files and Hugging Face directories: metadata, architecture and weights, with every read bounds-checked. */
@NullMarked
package org.harnesslearning.llm.checkpoint;

import org.jspecify.annotations.NullMarked;
