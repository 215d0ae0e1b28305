package org.harnesslearning.llm.engine;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.onnxruntime.MemoryInfo;
import org.bytedeco.onnxruntime.SessionOptions;
import org.bytedeco.onnxruntime.global.onnxruntime;
import org.harnesslearning.llm.graph.ElementType;
import org.jspecify.annotations.Nullable;

/** The host's memory, for models that run on its processor. */
final class HostMemory implements DeviceMemory {

    static {
        Natives.choose();
    }

    private static final long PAGE = 4096;
    private static final int MADV_DONTNEED = 4;
    private static final long LARGE_PAGE = 2 << 20;
    private static final int MADV_HUGEPAGE = 14;
    private static final @Nullable MethodHandle MADVISE = madvise();

    private final MemoryInfo info = MemoryInfo.CreateCpu(onnxruntime.OrtDeviceAllocator, onnxruntime.OrtMemTypeDefault);
    private final List<Pointer> blocks = new ArrayList<>();
    private long allocated;

    @Override
    public void enter() {
        // every thread has it
    }

    /** The operating system provides a page only when it is first written. */
    @Override
    public MemorySegment allocate(long bytes) {
        Pointer block = Pointer.calloc(Math.max(bytes, 1), 1);
        if (block == null || block.isNull()) {
            throw new OutOfMemoryError("no " + bytes + " bytes of native memory");
        }
        blocks.add(block);
        allocated += bytes;
        Allocated.add(bytes);
        return segment(block.address(), bytes);
    }

    /** The same in large pages where the operating system has them. */
    static MemorySegment allocateLargePages(DeviceMemory memory, long bytes) {
        long size = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
        MemorySegment block = memory.allocate(size + LARGE_PAGE);
        MemorySegment aligned = block.asSlice(Math.floorMod(-block.address(), LARGE_PAGE), size);
        advise(aligned.address(), size, MADV_HUGEPAGE);
        return aligned.asSlice(0, bytes);
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
        return end <= start || advise(start, end - start, MADV_DONTNEED);
    }

    private static boolean advise(long start, long bytes, int advice) {
        if (MADVISE == null) {
            return false;
        }
        try {
            return (int) MADVISE.invokeExact(MemorySegment.ofAddress(start), bytes, advice) == 0;
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

    /** The memory at an address that is known to have so many bytes. */
    @SuppressWarnings("restricted")
    static MemorySegment segment(long address, long bytes) {
        return MemorySegment.ofAddress(address).reinterpret(bytes);
    }

    @Override
    public MemorySegment mirror(MemorySegment device) {
        return device;
    }

    @Override
    public void upload(MemorySegment device, MemorySegment mirror, long bytes) {
        // the same memory
    }

    @Override
    public void download(MemorySegment mirror, MemorySegment device, long bytes) {
        // the same memory
    }

    @Override
    public void copy(MemorySegment target, MemorySegment source, long width, long pitch, long count) {
        for (long i = 0; i < count; i++) {
            MemorySegment.copy(source, i * pitch, target, i * pitch, width);
        }
    }

    @Override
    public void write(MemorySegment device, MemorySegment host) {
        device.copyFrom(host);
    }

    @Override
    public void fill(OnnxRuntime.Placed weight) {
        weight.weight().filler().fill(weight.targets());
    }

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public void configure(SessionOptions options, ElementType type, boolean captured) {
        // the processor is what sessions use by themselves
    }

    @Override
    public void close() {
        blocks.forEach(Pointer::free);
        blocks.clear();
        Allocated.add(-allocated);
        allocated = 0;
        info.close();
    }
}
