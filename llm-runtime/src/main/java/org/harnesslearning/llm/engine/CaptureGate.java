package org.harnesslearning.llm.engine;

import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;

/**
 * Keeps the other models of this process from a GPU's memory while a step is captured. ONNX Runtime captures in CUDA's
 * global mode, in which a capture fails when another thread allocates or frees memory, or loads kernels, meanwhile
 * (<a href="https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__STREAM.html">CUDA Runtime API, stream
 * capture</a>).
 */
final class CaptureGate {

    private static final ReentrantReadWriteLock LOCK = new ReentrantReadWriteLock();

    private CaptureGate() {}

    /**
     * Captures, when all other work has ended.
     *
     * @throws IllegalStateException if this thread is in {@link #beside}, for whose end it would wait
     */
    static void alone(Runnable capture) {
        if (LOCK.getReadHoldCount() > 0) {
            throw new IllegalStateException("a step can't be captured within other work of the GPU");
        }
        LOCK.writeLock().lock();
        try {
            capture.run();
        } finally {
            LOCK.writeLock().unlock();
        }
    }

    /** Works beside others, and not while one captures. */
    static <T> T beside(Supplier<T> work) {
        LOCK.readLock().lock();
        try {
            return work.get();
        } finally {
            LOCK.readLock().unlock();
        }
    }

    /** The same for work without a result. */
    static void beside(Runnable work) {
        beside(() -> {
            work.run();
            return work;
        });
    }
}
