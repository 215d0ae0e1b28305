/** NVIDIA GPUs by CUDA's driver interface and run-time compiler, called without native code of our own. */
@NullMarked
package org.harnesslearning.llm.cuda;

import org.jspecify.annotations.NullMarked;
