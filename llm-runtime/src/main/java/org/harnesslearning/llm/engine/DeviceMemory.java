package org.harnesslearning.llm.engine;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.onnxruntime.MemoryInfo;
import org.bytedeco.onnxruntime.Value;
import org.bytedeco.onnxruntime.global.onnxruntime;
import org.harnesslearning.llm.graph.ElementType;
import org.jspecify.annotations.Nullable;

/**
 * Memory on the device that runs the model, and ONNX Runtime's views of it. The one place that knows the device: here
 * the processor's own memory.
 *
 * <p>Used by one thread.
 */
final class DeviceMemory implements AutoCloseable {

    private static final long PAGE = 4096;
    private static final int MADV_DONTNEED = 4;
    private static final @Nullable MethodHandle MADVISE = madvise();

    private static final AtomicLong ALLOCATED = new AtomicLong();

    private final MemoryInfo info = MemoryInfo.CreateCpu(onnxruntime.OrtDeviceAllocator, onnxruntime.OrtMemTypeDefault);
    private final List<Pointer> blocks = new ArrayList<>();
    private long bytes;

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
        this.bytes += bytes;
        ALLOCATED.addAndGet(bytes);
        return segment(block, bytes);
    }

    /**
     * Gives the pages of some memory back to the operating system; it stays addressable and reads as zero.
     *
     * @return whether that can be done here
     */
    static boolean discard(MemorySegment memory) {
        if (MADVISE == null) {
            return false;
        }
        long start = (memory.address() + PAGE - 1) / PAGE * PAGE;
        long end = (memory.address() + memory.byteSize()) / PAGE * PAGE;
        if (end <= start) {
            return true;
        }
        try {
            return (int) MADVISE.invokeExact(MemorySegment.ofAddress(start), end - start, MADV_DONTNEED) == 0;
        } catch (Throwable e) {
            throw new IllegalStateException("madvise cannot be called", e);
        }
    }

    @SuppressWarnings("restricted")
    private static @Nullable MethodHandle madvise() {
        if (!System.getProperty("os.name").equals("Linux")) {
            return null;
        }
        Linker linker = Linker.nativeLinker();
        return linker.defaultLookup()
                .find("madvise")
                .map(function -> linker.downcallHandle(
                        function,
                        FunctionDescriptor.of(
                                ValueLayout.JAVA_INT,
                                ValueLayout.ADDRESS,
                                ValueLayout.JAVA_LONG,
                                ValueLayout.JAVA_INT)))
                .orElse(null);
    }

    /** The memory behind a native pointer that is known to have so many bytes. */
    @SuppressWarnings("restricted")
    static MemorySegment segment(Pointer pointer, long bytes) {
        return MemorySegment.ofAddress(pointer.address()).reinterpret(bytes);
    }

    /** Bytes that this process has allocated here and not freed. */
    static long allocated() {
        return ALLOCATED.get();
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
        ALLOCATED.addAndGet(-bytes);
        bytes = 0;
        info.close();
    }

    /** A native address as JavaCPP wants it. */
    private static final class Address extends Pointer {

        Address(long value) {
            address = value;
        }
    }
}
