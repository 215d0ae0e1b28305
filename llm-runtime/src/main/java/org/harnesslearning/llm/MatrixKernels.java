package org.harnesslearning.llm;

/** Who multiplies with quantised matrices on a processor. */
public enum MatrixKernels {
    /**
     * Where the machine can use ggml and the model is large enough for how it rounds inputs: ggml for a step of one row,
     * which takes as long as reading the weights, and ONNX Runtime for everything else, which is bound by arithmetic.
     * Matrices are held in both forms.
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
