/**
 * Products with quantised matrices by machine code of our own, for x86-64 processors that multiply bytes in 512-bit
 * vectors and add them up (AVX512-VNNI).
 */
@NullMarked
package org.harnesslearning.llm.vnni;

import org.jspecify.annotations.NullMarked;
