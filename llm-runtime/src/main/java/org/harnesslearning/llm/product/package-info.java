/** An operator of ONNX Runtime for products with quantised matrices, and what those who compute them share. */
@NullMarked
package org.harnesslearning.llm.product;

import org.jspecify.annotations.NullMarked;
