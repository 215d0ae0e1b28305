package org.harnesslearning.trainer.decoder;

/** Where a decoder is trained. */
public sealed interface Device {

    /** The host's processor. */
    record Cpu() implements Device {}

    /**
     * An NVIDIA GPU.
     *
     * @param id CUDA's ordinal
     */
    record Cuda(int id) implements Device {

        public Cuda {
            if (id < 0 || id > Byte.MAX_VALUE) {
                throw new IllegalArgumentException("a device id is 0 to " + Byte.MAX_VALUE);
            }
        }
    }

    /** The host's processor. */
    static Device cpu() {
        return new Cpu();
    }

    /** The GPU with this ordinal. */
    static Device cuda(int id) {
        return new Cuda(id);
    }
}
