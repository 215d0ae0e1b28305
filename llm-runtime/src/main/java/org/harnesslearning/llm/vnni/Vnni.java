package org.harnesslearning.llm.vnni;

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The kernels, each written when it is first asked for. */
public final class Vnni {

    private static final Logger LOG = LoggerFactory.getLogger(Vnni.class);

    /** What the kernels use; the operating system shows only what it has enabled. */
    private static final List<String> PROCESSOR_FLAGS = List.of("avx512f", "avx512bw", "avx512_vnni");

    private final MachineCode machineCode = new MachineCode();
    private final Map<Tile, MethodHandle[]> products = new ConcurrentHashMap<>();
    private final Map<Integer, MethodHandle> roundings = new ConcurrentHashMap<>();

    private Vnni() {}

    private static final class Holder {

        private static final @Nullable Vnni INSTANCE = load();

        private static @Nullable Vnni load() {
            String problem = problem();
            if (problem != null) {
                LOG.info("512-bit byte products are not used: {}", problem);
                return null;
            }
            try {
                Vnni vnni = new Vnni();
                vnni.rounding(32); // shows whether code of ours may run
                return vnni;
            } catch (UnsupportedOperationException e) {
                LOG.info("512-bit byte products are not used: {}", e.getMessage());
                return null;
            }
        }
    }

    /** The kernels if this machine can run them; the first call logs why it can't. */
    public static @Nullable Vnni available() {
        return Holder.INSTANCE;
    }

    private static @Nullable String problem() {
        String system = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        if (!system.equals("Linux amd64")) {
            return "they are written for Linux on x86-64, not " + system;
        }
        Set<String> missing = new HashSet<>(PROCESSOR_FLAGS);
        try (var lines = Files.lines(Path.of("/proc/cpuinfo"))) {
            lines.filter(line -> line.startsWith("flags"))
                    .findFirst()
                    .ifPresent(line -> Arrays.asList(line.split("\\s+")).forEach(missing::remove));
        } catch (IOException e) {
            return "the processor's features cannot be read: " + e.getMessage();
        }
        return missing.isEmpty() ? null : "this processor lacks " + missing;
    }

    /** The product for each size of a group, less one. */
    MethodHandle[] products(Tile tile) {
        return products.computeIfAbsent(tile, key -> {
            MethodHandle[] handles = new MethodHandle[KernelWriter.MOST_INPUTS];
            for (int i = 0; i < handles.length; i++) {
                handles[i] = machineCode.function(KernelWriter.product(key, i + 1));
            }
            return handles;
        });
    }

    MethodHandle rounding(int block) {
        return roundings.computeIfAbsent(block, key -> machineCode.function(KernelWriter.rounding(key)));
    }
}
