package org.harnesslearning.llm.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Finds CUDA's libraries where the dynamic linker does: on its path or in {@code LD_LIBRARY_PATH}. */
final class CudaLibraries {

    private CudaLibraries() {}

    /** Opens the first library of those named that is there. */
    @SuppressWarnings("restricted")
    static SymbolLookup open(String... names) {
        IllegalArgumentException last = null;
        for (String name : names) {
            try {
                return SymbolLookup.libraryLookup(name, Arena.global());
            } catch (IllegalArgumentException e) {
                last = e;
            }
        }
        throw new CudaException(
                "there is no " + String.join(", ", names), last == null ? new IllegalArgumentException() : last);
    }

    /** A function that answers an int. */
    @SuppressWarnings("restricted")
    static MethodHandle function(SymbolLookup library, String name, MemoryLayout... arguments) {
        return Linker.nativeLinker()
                .downcallHandle(
                        library.find(name)
                                .orElseThrow(() -> new CudaException(
                                        "CUDA's libraries have no " + name, new IllegalArgumentException(name))),
                        FunctionDescriptor.of(ValueLayout.JAVA_INT, arguments));
    }
}
