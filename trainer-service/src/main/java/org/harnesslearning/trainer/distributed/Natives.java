package org.harnesslearning.trainer.distributed;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;

/** Small bridges to native code. */
final class Natives {
    private static final int MOST_CHARACTERS = 300;

    private Natives() {}

    /** The part of a native error that is for people: its first line, without the stack of the library. */
    static String firstLine(Throwable e) {
        String text = String.valueOf(e.getMessage());
        String line = text.strip().lines().findFirst().orElse(text);
        return line.length() > MOST_CHARACTERS ? line.substring(0, MOST_CHARACTERS) + "…" : line;
    }

    /** Sets a variable for native libraries of this process, which Java itself can't. */
    @SuppressWarnings("restricted") // a plain function of the C library
    static void setVariable(String name, String value) {
        Linker linker = Linker.nativeLinker();
        try (Arena arena = Arena.ofConfined()) {
            var setenv = linker.downcallHandle(
                    linker.defaultLookup().findOrThrow("setenv"),
                    FunctionDescriptor.of(
                            ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
            int ignored = (int) setenv.invokeExact(arena.allocateFrom(name), arena.allocateFrom(value), 0);
            if (ignored != 0) {
                throw new DistributedException("the variable " + name + " could not be set");
            }
        } catch (DistributedException e) {
            throw e;
        } catch (Throwable e) {
            throw new DistributedException("the variable " + name + " could not be set", e);
        }
    }
}
