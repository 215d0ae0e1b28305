package org.harnesslearning.llm.graph;

/** Who multiplies with the quantised matrices of a graph for a processor. */
public enum ProductKernels {
    /** ONNX Runtime's {@code MatMulNBits}, from a form of its own. */
    ONNX,
    /** ggml, from the checkpoint's form; the least memory and the quickest load, slower prompts. */
    GGML,
    /** Machine code of our own for processors that have AVX512-VNNI, from a form of its own: the fastest. */
    VNNI
}
