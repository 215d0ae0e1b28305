package org.harnesslearning.llm.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * One GPU through its primary context, which ONNX Runtime shares, with one stream of our own.
 *
 * <p>A thread calls {@link #use()} before anything else. {@link #copyToDevice} may be called by several threads at once;
 * everything else belongs to one thread at a time.
 */
public final class CudaDevice implements AutoCloseable {

    static final int OUT_OF_MEMORY = 2;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final MemoryLayout ADDRESS = ValueLayout.ADDRESS;
    private static final int MAJOR = 75;
    private static final int MINOR = 76;
    private static final int MULTIPROCESSORS = 16;
    private static final int NON_BLOCKING = 1;
    private static final int MAX_DYNAMIC_SHARED = 8;

    /** Dynamic shared memory that a kernel may have without asking for more. */
    private static final int FREE_SHARED_BYTES = 48 << 10;

    private final Driver driver;
    private final int ordinal;
    private final int device;
    private final MemorySegment context;
    private final MemorySegment stream;
    private final Arena arena = Arena.ofShared();
    private final List<Long> allocations = new ArrayList<>();
    private final List<MemorySegment> pinned = new ArrayList<>();

    private CudaDevice(Driver driver, int ordinal, int device, MemorySegment context) {
        this.driver = driver;
        this.ordinal = ordinal;
        this.device = device;
        this.context = context;
        use();
        MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
        driver.call(driver.streamCreate, out, NON_BLOCKING);
        this.stream = out.get(ValueLayout.ADDRESS, 0);
    }

    /**
     * Opens a GPU.
     *
     * @param ordinal its number
     * @throws CudaException if there is no driver or no such device
     */
    public static CudaDevice open(int ordinal) {
        Driver driver = Driver.load();
        try (Arena arena = Arena.ofConfined()) {
            driver.call(driver.init, 0);
            MemorySegment device = arena.allocate(INT);
            driver.call(driver.deviceGet, device, ordinal);
            MemorySegment context = arena.allocate(ValueLayout.ADDRESS);
            driver.call(driver.retain, context, device.get(INT, 0));
            return new CudaDevice(driver, ordinal, device.get(INT, 0), context.get(ValueLayout.ADDRESS, 0));
        }
    }

    /** Number of GPUs that CUDA shows; 0 where there is no driver. */
    public static int count() {
        try (Arena arena = Arena.ofConfined()) {
            Driver driver = Driver.load();
            driver.call(driver.init, 0);
            MemorySegment count = arena.allocate(INT);
            driver.call(driver.deviceCount, count);
            return count.get(INT, 0);
        } catch (CudaException e) {
            return 0;
        }
    }

    /** CUDA's ordinal. */
    public int ordinal() {
        return ordinal;
    }

    /** Makes this device the calling thread's. */
    public void use() {
        driver.call(driver.setCurrent, context);
    }

    /** Compute capability, such as 90. */
    public int capability() {
        return 10 * attribute(MAJOR) + attribute(MINOR);
    }

    /** Number of streaming multiprocessors. */
    public int multiprocessors() {
        return attribute(MULTIPROCESSORS);
    }

    private int attribute(int which) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment value = local.allocate(INT);
            driver.call(driver.attribute, value, which, device);
            return value.get(INT, 0);
        }
    }

    /** Free bytes of the device's memory. */
    public long freeBytes() {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment values = local.allocate(LONG, 2);
            driver.call(driver.memoryInfo, values, values.asSlice(8));
            return values.get(LONG, 0);
        }
    }

    /** The stream on which all work is ordered. */
    public MemorySegment stream() {
        return stream;
    }

    /** Allocates zeroed device memory, freed with this object; the segment is an address only. */
    @SuppressWarnings("restricted")
    public MemorySegment allocate(long bytes) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment address = local.allocate(LONG);
            long size = Math.max(bytes, 16);
            driver.call(driver.allocate, address, size);
            allocations.add(address.get(LONG, 0));
            driver.call(driver.set, address.get(LONG, 0), (byte) 0, size);
            // Our stream does not wait for the default one, in which that runs.
            driver.call(driver.streamSynchronise, MemorySegment.NULL);
            return MemorySegment.ofAddress(address.get(LONG, 0)).reinterpret(bytes);
        }
    }

    /** Page-locked, zeroed host memory, freed with this object. */
    @SuppressWarnings("restricted")
    public MemorySegment hostMemory(long bytes) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment address = local.allocate(ValueLayout.ADDRESS);
            driver.call(driver.hostAllocate, address, Math.max(bytes, 16), 0);
            MemorySegment host = address.get(ValueLayout.ADDRESS, 0);
            pinned.add(host);
            return host.reinterpret(bytes).fill((byte) 0);
        }
    }

    /** Copies host memory of any kind to the device and waits for the copy; any thread. */
    public void copyToDevice(MemorySegment target, MemorySegment source, long bytes) {
        driver.call(driver.toDevice, target.address(), source, bytes);
    }

    /** Starts a copy of page-locked memory to the device in the stream. */
    public void upload(MemorySegment target, MemorySegment source, long bytes) {
        try {
            // Exactly typed, as this is called at every step.
            driver.check((int) driver.toDeviceAsync.invokeExact(target.address(), source, bytes, stream));
        } catch (CudaException e) {
            throw e;
        } catch (Throwable e) {
            throw new CudaException("CUDA cannot be called: " + e, e);
        }
    }

    /** Copies device memory to page-locked memory after all that is in the stream, and waits for it. */
    public void download(MemorySegment target, MemorySegment source, long bytes) {
        try {
            driver.check((int) driver.toHostAsync.invokeExact(target, source.address(), bytes, stream));
            driver.check((int) driver.streamSynchronise.invokeExact(stream));
        } catch (CudaException e) {
            throw e;
        } catch (Throwable e) {
            throw new CudaException("CUDA cannot be called: " + e, e);
        }
    }

    /** Waits for all work in the stream. */
    public void synchronise() {
        driver.call(driver.streamSynchronise, stream);
    }

    /** Starts a copy of {@code count} pieces of {@code width} bytes, {@code pitch} apart, within the device. */
    public void copy(MemorySegment target, MemorySegment source, long width, long pitch, long count) {
        try (Arena local = Arena.ofConfined()) {
            // CUDA_MEMCPY2D: source (x, y, type, host, device, array, pitch), target (the same), width, height
            MemorySegment copy = local.allocate(LONG, 16);
            copy.set(INT, 16, 2);
            copy.set(LONG, 32, source.address());
            copy.set(LONG, 48, pitch);
            copy.set(INT, 72, 2);
            copy.set(LONG, 88, target.address());
            copy.set(LONG, 104, pitch);
            copy.set(LONG, 112, width);
            copy.set(LONG, 120, count);
            driver.call(driver.copy2d, copy, stream);
        }
    }

    /** Loads machine code for this device. */
    MemorySegment loadModule(byte[] code) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment image = local.allocate(code.length, 16);
            MemorySegment.copy(code, 0, image, ValueLayout.JAVA_BYTE, 0, code.length);
            MemorySegment module = local.allocate(ValueLayout.ADDRESS);
            driver.call(driver.moduleLoad, module, image);
            return module.get(ValueLayout.ADDRESS, 0);
        }
    }

    MemorySegment function(MemorySegment module, String name) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment function = local.allocate(ValueLayout.ADDRESS);
            driver.call(driver.moduleFunction, function, module, local.allocateFrom(name));
            return function.get(ValueLayout.ADDRESS, 0);
        }
    }

    /** Blocks of a kernel that one multiprocessor holds at a time. */
    int occupancy(MemorySegment function, int threads, int sharedBytes) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment blocks = local.allocate(INT);
            driver.call(driver.occupancy, blocks, function, threads, (long) sharedBytes);
            return blocks.get(INT, 0);
        }
    }

    /** Lets a kernel have so much dynamic shared memory. */
    void allowShared(MemorySegment function, int sharedBytes) {
        if (sharedBytes > FREE_SHARED_BYTES) {
            driver.call(driver.functionAttribute, function, MAX_DYNAMIC_SHARED, sharedBytes);
        }
    }

    void launch(
            MemorySegment function,
            int gridX,
            int gridY,
            int gridZ,
            int threads,
            int sharedBytes,
            MemorySegment launchStream,
            MemorySegment arguments) {
        allowShared(function, sharedBytes);
        driver.call(
                driver.launch,
                function,
                gridX,
                gridY,
                gridZ,
                threads,
                1,
                1,
                sharedBytes,
                launchStream,
                arguments,
                MemorySegment.NULL);
    }

    /** Frees all memory; the context stays with the process. */
    @Override
    public void close() {
        use();
        driver.call(driver.streamSynchronise, stream);
        for (long address : allocations) {
            driver.call(driver.free, address);
        }
        allocations.clear();
        for (MemorySegment host : pinned) {
            driver.call(driver.hostFree, host);
        }
        pinned.clear();
        driver.call(driver.streamDestroy, stream);
        arena.close();
    }

    /** Functions of libcuda. */
    private static final class Driver {

        private final SymbolLookup library;
        private final MethodHandle errorName;
        final MethodHandle init;
        final MethodHandle deviceGet;
        final MethodHandle deviceCount;
        final MethodHandle attribute;
        final MethodHandle retain;
        final MethodHandle setCurrent;
        final MethodHandle memoryInfo;
        final MethodHandle allocate;
        final MethodHandle free;
        final MethodHandle set;
        final MethodHandle hostAllocate;
        final MethodHandle hostFree;
        final MethodHandle toDevice;
        final MethodHandle toDeviceAsync;
        final MethodHandle toHostAsync;
        final MethodHandle copy2d;
        final MethodHandle streamCreate;
        final MethodHandle streamDestroy;
        final MethodHandle streamSynchronise;
        final MethodHandle moduleLoad;
        final MethodHandle moduleFunction;
        final MethodHandle launch;
        final MethodHandle functionAttribute;
        final MethodHandle occupancy;

        private Driver(SymbolLookup library) {
            this.library = library;
            errorName = function("cuGetErrorName", INT, ADDRESS);
            init = function("cuInit", INT);
            deviceGet = function("cuDeviceGet", ADDRESS, INT);
            deviceCount = function("cuDeviceGetCount", ADDRESS);
            attribute = function("cuDeviceGetAttribute", ADDRESS, INT, INT);
            retain = function("cuDevicePrimaryCtxRetain", ADDRESS, INT);
            setCurrent = function("cuCtxSetCurrent", ADDRESS);
            memoryInfo = function("cuMemGetInfo_v2", ADDRESS, ADDRESS);
            allocate = function("cuMemAlloc_v2", ADDRESS, LONG);
            free = function("cuMemFree_v2", LONG);
            set = function("cuMemsetD8_v2", LONG, ValueLayout.JAVA_BYTE, LONG);
            hostAllocate = function("cuMemHostAlloc", ADDRESS, LONG, INT);
            hostFree = function("cuMemFreeHost", ADDRESS);
            toDevice = function("cuMemcpyHtoD_v2", LONG, ADDRESS, LONG);
            toDeviceAsync = function("cuMemcpyHtoDAsync_v2", LONG, ADDRESS, LONG, ADDRESS);
            toHostAsync = function("cuMemcpyDtoHAsync_v2", ADDRESS, LONG, LONG, ADDRESS);
            copy2d = function("cuMemcpy2DAsync_v2", ADDRESS, ADDRESS);
            streamCreate = function("cuStreamCreate", ADDRESS, INT);
            streamDestroy = function("cuStreamDestroy_v2", ADDRESS);
            streamSynchronise = function("cuStreamSynchronize", ADDRESS);
            moduleLoad = function("cuModuleLoadData", ADDRESS, ADDRESS);
            moduleFunction = function("cuModuleGetFunction", ADDRESS, ADDRESS, ADDRESS);
            occupancy = function("cuOccupancyMaxActiveBlocksPerMultiprocessor", ADDRESS, ADDRESS, INT, LONG);
            functionAttribute = function("cuFuncSetAttribute", ADDRESS, INT, INT);
            launch = function("cuLaunchKernel", ADDRESS, INT, INT, INT, INT, INT, INT, INT, ADDRESS, ADDRESS, ADDRESS);
        }

        static Driver load() {
            return new Driver(CudaLibraries.open("libcuda.so.1"));
        }

        private MethodHandle function(String name, MemoryLayout... arguments) {
            return CudaLibraries.function(library, name, arguments);
        }

        /** Calls a function and throws what it answers unless that is success. */
        void call(MethodHandle function, Object... arguments) {
            int code;
            try {
                code = (int) function.invokeWithArguments(arguments);
            } catch (Throwable e) {
                throw new CudaException("CUDA cannot be called: " + e, e);
            }
            check(code);
        }

        void check(int code) {
            if (code != 0) {
                throw new CudaException("CUDA answered " + name(code), code);
            }
        }

        @SuppressWarnings("restricted")
        private String name(int code) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment text = arena.allocate(ValueLayout.ADDRESS);
                int found = (int) errorName.invokeExact(code, text);
                return found == 0
                        ? text.get(ValueLayout.ADDRESS, 0).reinterpret(200).getString(0)
                        : "error " + code;
            } catch (Throwable e) {
                return "error " + code;
            }
        }
    }
}
