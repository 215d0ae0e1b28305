package org.harnesslearning.llm.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** CUDA C++ source compiled by NVRTC for one device, and launches of its kernels. */
public final class CudaModule {

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

    private final CudaDevice device;
    private final MemorySegment module;
    private final Map<String, MemorySegment> functions = new HashMap<>();

    private CudaModule(CudaDevice device, MemorySegment module) {
        this.device = device;
        this.module = module;
    }

    /**
     * Compiles and loads a source without includes.
     *
     * @param options compiler options, such as {@code -DHEAD=128}
     * @throws CudaException with the compiler's messages if it does not compile, or if there is no NVRTC
     */
    public static CudaModule compile(CudaDevice device, String source, List<String> options) {
        return new CudaModule(device, device.loadModule(compile(device.capability(), source, options)));
    }

    /** Machine code of a source for a compute capability; needs NVRTC but no device. */
    public static byte[] compile(int capability, String source, List<String> options) {
        Compiler compiler = new Compiler();
        List<String> all = new java.util.ArrayList<>(options);
        all.add("--gpu-architecture=sm_" + capability);
        all.add("--std=c++17");
        return compiler.machineCode(source, all);
    }

    /** Blocks of a kernel that the whole device holds at a time. */
    public int resident(String name, int threads, int sharedBytes) {
        MemorySegment function = function(name);
        device.allowShared(function, sharedBytes);
        return Math.max(1, device.occupancy(function, threads, sharedBytes)) * device.multiprocessors();
    }

    private MemorySegment function(String name) {
        return functions.computeIfAbsent(name, key -> device.function(module, key));
    }

    /**
     * Launches a kernel.
     *
     * @param stream the stream
     * @param name an {@code extern "C"} kernel
     * @param grid blocks in x, y and z
     * @param threads threads a block
     * @param sharedBytes dynamic shared memory, at most 48 KiB
     * @param arguments addresses as {@link MemorySegment}, and {@link Integer}, {@link Long} or {@link Float}
     */
    public void launch(
            MemorySegment stream, String name, int[] grid, int threads, int sharedBytes, Object... arguments) {
        MemorySegment function = function(name);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pointers = arena.allocate(ValueLayout.ADDRESS, arguments.length);
            for (int i = 0; i < arguments.length; i++) {
                MemorySegment value = arena.allocate(8, 8);
                switch (arguments[i]) {
                    case MemorySegment address -> value.set(LONG, 0, address.address());
                    case Integer number -> value.set(INT, 0, number);
                    case Long number -> value.set(LONG, 0, number);
                    case Float number -> value.set(ValueLayout.JAVA_FLOAT, 0, number);
                    default -> throw new IllegalArgumentException("no kernel argument: " + arguments[i]);
                }
                pointers.setAtIndex(ValueLayout.ADDRESS, i, value);
            }
            device.launch(function, grid[0], grid[1], grid[2], threads, sharedBytes, stream, pointers);
        }
    }

    /** Functions of NVRTC. */
    private static final class Compiler {

        private final MethodHandle create;
        private final MethodHandle compile;
        private final MethodHandle logSize;
        private final MethodHandle log;
        private final MethodHandle codeSize;
        private final MethodHandle code;
        private final MethodHandle destroy;

        Compiler() {
            SymbolLookup library = CudaLibraries.open("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so");
            var address = ValueLayout.ADDRESS;
            create = CudaLibraries.function(
                    library, "nvrtcCreateProgram", address, address, address, INT, address, address);
            compile = CudaLibraries.function(library, "nvrtcCompileProgram", address, INT, address);
            logSize = CudaLibraries.function(library, "nvrtcGetProgramLogSize", address, address);
            log = CudaLibraries.function(library, "nvrtcGetProgramLog", address, address);
            codeSize = CudaLibraries.function(library, "nvrtcGetCUBINSize", address, address);
            code = CudaLibraries.function(library, "nvrtcGetCUBIN", address, address);
            destroy = CudaLibraries.function(library, "nvrtcDestroyProgram", address);
        }

        byte[] machineCode(String source, List<String> options) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment handle = arena.allocate(ValueLayout.ADDRESS);
                check(call(
                        create,
                        handle,
                        arena.allocateFrom(source),
                        arena.allocateFrom("decoder.cu"),
                        0,
                        MemorySegment.NULL,
                        MemorySegment.NULL));
                MemorySegment program = handle.get(ValueLayout.ADDRESS, 0);
                MemorySegment flags = arena.allocate(ValueLayout.ADDRESS, options.size());
                for (int i = 0; i < options.size(); i++) {
                    flags.setAtIndex(ValueLayout.ADDRESS, i, arena.allocateFrom(options.get(i)));
                }
                int result = call(compile, program, options.size(), flags);
                if (result != 0) {
                    String messages = new String(read(arena, logSize, log, program), StandardCharsets.UTF_8);
                    throw new CudaException("the kernels do not compile: " + messages, result);
                }
                byte[] machineCode = read(arena, codeSize, code, program);
                check(call(destroy, handle));
                return machineCode;
            }
        }

        private static byte[] read(Arena arena, MethodHandle sizeOf, MethodHandle contents, MemorySegment program) {
            MemorySegment size = arena.allocate(LONG);
            check(call(sizeOf, program, size));
            MemorySegment bytes = arena.allocate(size.get(LONG, 0));
            check(call(contents, program, bytes));
            return bytes.toArray(ValueLayout.JAVA_BYTE);
        }

        private static int call(MethodHandle function, Object... arguments) {
            try {
                return (int) function.invokeWithArguments(arguments);
            } catch (Throwable e) {
                throw new CudaException("NVRTC cannot be called: " + e, e);
            }
        }

        private static void check(int result) {
            if (result != 0) {
                throw new CudaException("NVRTC answered error " + result, result);
            }
        }
    }
}
