package org.harnesslearning.llm;

/** Who multiplies with quantised matrices on a processor. */
public enum MatrixKernels {
    /**
     * ONNX Runtime for matrices of four bits a weight, ggml for those of more where the machine can use it and the model
     * is large enough for how ggml rounds inputs.
     */
    AUTO,
    /**
     * ggml, straight from the file's own form: the least memory and the quickest load, slower prompts. Loading fails where
     * the machine cannot use it.
     */
    GGML,
    /** ONNX Runtime, from a form of its own. */
    ONNX
}
