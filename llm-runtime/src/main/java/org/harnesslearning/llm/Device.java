package org.harnesslearning.llm;

/** Where a model runs. */
public sealed interface Device {

    /** The host's processor. */
    record Cpu() implements Device {}

    /**
     * An NVIDIA GPU.
     *
     * @param id CUDA's ordinal
     * @param graphs whether decode steps are captured once per batch size and replayed as CUDA graphs
     * @param kernels whether the kernels of this project (attention over the cache, gated activation, sampling head,
     *     matrix × vector) are compiled for the GPU by NVRTC and used; without them the operators of ONNX Runtime do all
     */
    record Cuda(int id, boolean graphs, boolean kernels) implements Device {

        public Cuda {
            if (id < 0) {
                throw new IllegalArgumentException("a device id is not negative");
            }
        }
    }

    /** The host's processor. */
    static Device cpu() {
        return new Cpu();
    }

    /** The GPU with this ordinal, with everything on that makes it fast. */
    static Device cuda(int id) {
        return new Cuda(id, true, true);
    }
}
