package org.harnesslearning.llm;

/** Who multiplies with quantised matrices on a processor. */
public enum MatrixKernels {
    /**
     * For models that are large enough for how the others round inputs, {@link #VNNI} where the processor can; else, where
     * the machine can use ggml, that for a step of one row, which takes as long as reading the weights, and ONNX Runtime
     * for everything else, with matrices held in both forms. For the rest ONNX Runtime.
     */
    AUTO,
    /**
     * Machine code of our own for x86-64 processors with AVX512-VNNI: the fastest. Loading fails where the processor can't
     * run it.
     */
    VNNI,
    /**
     * ggml, straight from the file's own form: the least memory and the quickest load, slower prompts. Loading fails where
     * the machine cannot use it.
     */
    GGML,
    /** ONNX Runtime, from a form of its own. */
    ONNX
}
