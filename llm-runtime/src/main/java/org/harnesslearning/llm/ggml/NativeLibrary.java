package org.harnesslearning.llm.ggml;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;

/**
 * The shared library that has ggml inside: that of java-llama.cpp (MIT licence), taken from its jar. Only ggml's C
 * functions are used, none of its Java classes.
 */
final class NativeLibrary {

    private static final String RESOURCE = "/de/kherud/llama/Linux/x86_64/libjllama.so";

    /** What the library was compiled for; a processor without them would stop the process. */
    private static final List<String> PROCESSOR_FLAGS = List.of("avx2", "fma", "f16c", "bmi2");

    private NativeLibrary() {}

    /** Opens the library for the rest of the process's life. */
    @SuppressWarnings("restricted")
    static SymbolLookup open() throws UnavailableException {
        checkMachine();
        Path file = extracted();
        try {
            return SymbolLookup.libraryLookup(file, Arena.global());
        } catch (IllegalArgumentException e) {
            throw new UnavailableException(
                    "its library cannot be loaded (is libgomp.so.1, Debian's libgomp1, installed?): " + e.getMessage());
        }
    }

    private static void checkMachine() throws UnavailableException {
        String system = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        if (!system.equals("Linux amd64")) {
            throw new UnavailableException("no library for " + system);
        }
        Set<String> missing = new HashSet<>(PROCESSOR_FLAGS);
        try {
            Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
                    .filter(line -> line.startsWith("flags"))
                    .findFirst()
                    .ifPresent(line -> Arrays.asList(line.split("\\s+")).forEach(missing::remove));
        } catch (IOException e) {
            throw new UnavailableException("the processor's features cannot be read: " + e.getMessage());
        }
        if (!missing.isEmpty()) {
            throw new UnavailableException("this processor lacks " + missing);
        }
    }

    /** The library as a file that is named by its contents, in the user's cache or else the temporary folder. */
    private static Path extracted() throws UnavailableException {
        byte[] library;
        try (InputStream in = NativeLibrary.class.getResourceAsStream(RESOURCE)) {
            if (in == null) {
                throw new UnavailableException(RESOURCE + " is not on the class path");
            }
            library = in.readAllBytes();
        } catch (IOException e) {
            throw new UnavailableException("its library cannot be read: " + e.getMessage());
        }
        String name = "ggml-" + HexFormat.of().formatHex(sha256(library), 0, 12) + ".so";
        String problem = "";
        for (Path folder : List.of(cache(), Path.of(System.getProperty("java.io.tmpdir")))) {
            try {
                Path file = folder.resolve(name);
                // The name is no proof: another process, or another user of the folder, may have written it.
                if (!Files.isRegularFile(file) || !Arrays.equals(library, Files.readAllBytes(file))) {
                    Files.createDirectories(folder);
                    Path fresh = Files.createTempFile(folder, name, ".part");
                    Files.write(fresh, library);
                    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
                }
                return file;
            } catch (IOException e) {
                problem = e.toString();
            }
        }
        throw new UnavailableException("its library cannot be unpacked: " + problem);
    }

    private static Path cache() {
        String own = System.getenv("HARNESS_CACHE");
        if (own != null) {
            return Path.of(own, "native");
        }
        String common = System.getenv("XDG_CACHE_HOME");
        Path base = common != null ? Path.of(common) : Path.of(System.getProperty("user.home"), ".cache");
        return base.resolve("harness-learning").resolve("native");
    }

    private static byte[] sha256(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
