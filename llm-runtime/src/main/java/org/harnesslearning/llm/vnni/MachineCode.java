package org.harnesslearning.llm.vnni;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Makes functions of machine code. Their memory is readable and executable, and stays for the process's life. */
final class MachineCode {

    private static final int PROT_READ = 1;
    private static final int PROT_WRITE = 2;
    private static final int PROT_EXEC = 4;
    private static final int MAP_PRIVATE = 2;
    private static final int MAP_ANONYMOUS = 0x20;
    private static final long PAGE = 4096;

    private final Linker linker = Linker.nativeLinker();
    private final MethodHandle map = function(
            "mmap",
            FunctionDescriptor.of(
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_INT,
                    ValueLayout.JAVA_INT,
                    ValueLayout.JAVA_INT,
                    ValueLayout.JAVA_LONG));
    private final MethodHandle protect = function(
            "mprotect",
            FunctionDescriptor.of(
                    ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));

    /**
     * A function of six integers or addresses that returns nothing; a handle of six {@code long}.
     *
     * @throws UnsupportedOperationException if the operating system gives no memory for it
     */
    @SuppressWarnings("restricted")
    MethodHandle function(byte[] code) {
        long size = (code.length + PAGE - 1) / PAGE * PAGE;
        long address;
        boolean executable;
        try {
            address = (long) map.invokeExact(0L, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
            if (address == -1) {
                throw new UnsupportedOperationException("no memory for machine code");
            }
            MemorySegment.ofAddress(address).reinterpret(size).copyFrom(MemorySegment.ofArray(code));
            executable = (int) protect.invokeExact(address, size, PROT_READ | PROT_EXEC) == 0;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("the C library cannot be called", e);
        }
        if (!executable) {
            throw new UnsupportedOperationException("memory cannot be made executable");
        }
        return linker.downcallHandle(
                MemorySegment.ofAddress(address),
                FunctionDescriptor.ofVoid(
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG));
    }

    @SuppressWarnings("restricted")
    private MethodHandle function(String name, FunctionDescriptor descriptor) {
        return linker.downcallHandle(
                linker.defaultLookup().find(name).orElseThrow(() -> new UnsupportedOperationException("no " + name)),
                descriptor);
    }
}
