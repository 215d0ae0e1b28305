package org.harnesslearning.llm.engine;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.onnxruntime.MemoryInfo;
import org.bytedeco.onnxruntime.Value;
import org.bytedeco.onnxruntime.global.onnxruntime;
import org.harnesslearning.llm.graph.ElementType;

/**
 * Memory on the device that runs the model, and ONNX Runtime's views of it. The one place that knows the device: here
 * the processor's own memory.
 *
 * <p>Used by one thread.
 */
final class DeviceMemory implements AutoCloseable {

    private final MemoryInfo info = MemoryInfo.CreateCpu(onnxruntime.OrtDeviceAllocator, onnxruntime.OrtMemTypeDefault);
    private final List<Pointer> blocks = new ArrayList<>();

    /**
     * Allocates zeroed memory, of which the operating system provides a page only when it is first written.
     *
     * @throws OutOfMemoryError if the address space does not have it
     */
    MemorySegment allocate(long bytes) {
        Pointer block = Pointer.calloc(Math.max(bytes, 1), 1);
        if (block == null || block.isNull()) {
            throw new OutOfMemoryError("no " + bytes + " bytes of native memory");
        }
        blocks.add(block);
        return segment(block, bytes);
    }

    /** The memory behind a native pointer that is known to have so many bytes. */
    @SuppressWarnings("restricted")
    static MemorySegment segment(Pointer pointer, long bytes) {
        return MemorySegment.ofAddress(pointer.address()).reinterpret(bytes);
    }

    /** A tensor over existing memory; the caller closes it, the memory stays. */
    Value tensor(MemorySegment memory, ElementType type, long... shape) {
        long bytes = type.bytes();
        for (long dimension : shape) {
            bytes *= dimension;
        }
        if (bytes > memory.byteSize()) {
            throw new IllegalArgumentException("a tensor of " + bytes + " bytes over " + memory.byteSize());
        }
        try (Address address = new Address(memory.address())) {
            return Value.CreateTensor(info.asOrtMemoryInfo(), address, bytes, shape, shape.length, type.id());
        }
    }

    @Override
    public void close() {
        blocks.forEach(Pointer::free);
        blocks.clear();
        info.close();
    }

    /** A native address as JavaCPP wants it. */
    private static final class Address extends Pointer {

        Address(long value) {
            address = value;
        }
    }
}
