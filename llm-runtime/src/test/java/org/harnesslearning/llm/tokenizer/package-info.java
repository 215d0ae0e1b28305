/** Tests of the tokenizers. */
@NullMarked
package org.harnesslearning.llm.tokenizer;

import org.jspecify.annotations.NullMarked;
