package org.harnesslearning.llm.cuda;

/** A call of CUDA failed, or CUDA is not there. */
public final class CudaException extends RuntimeException {

    private static final long serialVersionUID = 1;

    private final int code;

    CudaException(String message, int code) {
        super(message);
        this.code = code;
    }

    CudaException(String message, Throwable cause) {
        super(message, cause);
        this.code = 0;
    }

    /** CUDA's error code; 0 where none was given. */
    public int code() {
        return code;
    }

    /** Whether the device has too little free memory. */
    public boolean outOfMemory() {
        return code == CudaDevice.OUT_OF_MEMORY;
    }
}
