package org.harnesslearning.llm.engine;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.onnxruntime.MemoryInfo;
import org.bytedeco.onnxruntime.SessionOptions;
import org.bytedeco.onnxruntime.Value;
import org.harnesslearning.llm.graph.ElementType;

/**
 * Memory of the device that runs the model, and ONNX Runtime's views of it. All that the engine knows of the device.
 *
 * <p>Segments of a GPU's memory are addresses only: the host must not read or write them.
 *
 * <p>Used by one thread, except where said.
 */
sealed interface DeviceMemory extends AutoCloseable permits HostMemory, CudaMemory {

    /** Bytes that this process has allocated on devices and not freed. */
    static long allocated() {
        return Allocated.BYTES.get();
    }

    /** Makes the device the calling thread's; before anything else on a thread. */
    void enter();

    /**
     * Allocates zeroed memory on the device.
     *
     * @throws OutOfMemoryError if there is not enough
     */
    MemorySegment allocate(long bytes);

    /** Host memory that mirrors device memory: the same memory on a processor, else page-locked memory. */
    MemorySegment mirror(MemorySegment device);

    /** Copies the first bytes of a mirror to the device, before what is run next. */
    void upload(MemorySegment device, MemorySegment mirror, long bytes);

    /** Copies device memory to its mirror once all that was started has ended. */
    void download(MemorySegment mirror, MemorySegment device, long bytes);

    /**
     * Copies {@code count} pieces of {@code width} bytes, {@code pitch} bytes apart in both places, which must not
     * overlap.
     */
    void copy(MemorySegment target, MemorySegment source, long width, long pitch, long count);

    /** Copies any memory of the host to the device, and returns when it may change again. */
    void write(MemorySegment device, MemorySegment host);

    /** Fills memory that {@link #allocate} gave; any thread may call this. */
    void fill(OnnxRuntime.Placed weight);

    /** What ONNX Runtime calls this memory. */
    MemoryInfo info();

    /** Sets what sessions on this device need that compute in a number type. */
    void configure(SessionOptions options, ElementType type, boolean captured);

    /** A tensor over existing device memory; the caller closes it, the memory stays. */
    default Value tensor(MemorySegment memory, ElementType type, long... shape) {
        return tensor(info(), memory, type, shape);
    }

    /** A tensor over memory of some place. */
    static Value tensor(MemoryInfo place, MemorySegment memory, ElementType type, long... shape) {
        long bytes = type.bytes();
        for (long dimension : shape) {
            bytes *= dimension;
        }
        if (bytes > memory.byteSize()) {
            throw new IllegalArgumentException("a tensor of " + bytes + " bytes over " + memory.byteSize());
        }
        try (Address address = new Address(memory.address())) {
            return Value.CreateTensor(place.asOrtMemoryInfo(), address, bytes, shape, shape.length, type.id());
        }
    }

    @Override
    void close();

    /** The count behind {@link #allocated}. */
    final class Allocated {

        private static final AtomicLong BYTES = new AtomicLong();

        private Allocated() {}

        static void add(long bytes) {
            BYTES.addAndGet(bytes);
        }
    }

    /** A native address as JavaCPP wants it. */
    final class Address extends Pointer {

        Address(long value) {
            address = value;
        }
    }
}
