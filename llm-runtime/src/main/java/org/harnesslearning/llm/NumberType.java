package org.harnesslearning.llm;

/** Number type of dense weights, activations and cache. */
public enum NumberType {
    /** On a processor FP32. On a GPU BF16 for checkpoints in bfloat16, FP16 for all others. */
    AUTO,
    FP32,
    FP16,
    BF16
}
