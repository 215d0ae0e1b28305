/** The byte-level BPE tokenizers of the supported checkpoint families, with exact incremental decoding. */
@NullMarked
package org.harnesslearning.llm.tokenizer;

import org.jspecify.annotations.NullMarked;
