package org.harnesslearning.llm.cuda;

import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/** Tells a profiler that was started with this process, such as {@code ncu --profile-from-start off}, what to watch. */
public final class CudaProfiler {

    private CudaProfiler() {}

    /** From now on. */
    public static void start() {
        call("cuProfilerStart");
    }

    /** No more. */
    public static void stop() {
        call("cuProfilerStop");
    }

    private static void call(String name) {
        SymbolLookup library = CudaLibraries.open("libcuda.so.1");
        MethodHandle function = CudaLibraries.function(library, name);
        int code;
        try {
            code = (int) function.invokeExact();
        } catch (Throwable e) {
            throw new CudaException("CUDA cannot be called: " + e, e);
        }
        if (code != 0) {
            throw new CudaException(name + " answered " + code, code);
        }
    }
}
