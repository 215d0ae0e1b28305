/** Products with quantised matrices in the form in which GGUF files store them, computed by ggml's kernels. */
@NullMarked
package org.harnesslearning.llm.ggml;

import org.jspecify.annotations.NullMarked;
