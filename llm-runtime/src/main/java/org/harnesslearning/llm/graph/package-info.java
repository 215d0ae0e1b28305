/** Builds the ONNX graph of a decoder from a checkpoint, with the weights in the forms that ONNX Runtime computes fast. */
@NullMarked
package org.harnesslearning.llm.graph;

import org.jspecify.annotations.NullMarked;
