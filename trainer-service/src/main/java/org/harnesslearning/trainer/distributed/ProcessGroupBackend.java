package org.harnesslearning.trainer.distributed;

/** Libraries that carry tensors between ranks. */
public enum ProcessGroupBackend {
    /** Over TCP, for tensors in memory. */
    GLOO,
    /** Between GPUs. */
    NCCL
}
