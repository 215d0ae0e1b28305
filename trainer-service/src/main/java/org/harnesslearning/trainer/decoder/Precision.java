package org.harnesslearning.trainer.decoder;

/** The number type of the frozen base and of all products; the adapter's own weights and gradients are fp32 in either. */
public enum Precision {
    FP32,
    /** Products in bfloat16: the choice on GPUs, slow on most processors. */
    BF16
}
