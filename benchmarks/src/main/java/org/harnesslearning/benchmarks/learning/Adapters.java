package org.harnesslearning.benchmarks.learning;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.checkpoint.Safetensors;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.harnesslearning.llm.checkpoint.TensorType;

/**
 * Adapters as files. Their numbers are rounded to bfloat16 first, which halves the files; the rounded adapter is a version
 * of its own, and it is the one that later stages use, so that what is kept is what was measured.
 */
final class Adapters {
    private static final int PART = 15 << 20;
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private Adapters() {}

    /**
     * An adapter's two files.
     *
     * @param config {@code adapter_config.json}
     * @param weights {@code adapter_model.safetensors}
     */
    record Content(byte[] config, byte[] weights) {
        /** Id in the model registry. */
        String version() {
            return LoraAdapter.hash(config, weights);
        }

        /** The zip that the registry gives and takes. */
        byte[] zip() {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
                entry(zip, LoraAdapter.CONFIG_FILE, config);
                entry(zip, LoraAdapter.WEIGHTS_FILE, weights);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return bytes.toByteArray();
        }

        private static void entry(ZipOutputStream zip, String name, byte[] content) throws IOException {
            ZipEntry entry = new ZipEntry(name);
            entry.setTimeLocal(LocalDateTime.of(1980, 1, 1, 0, 0));
            zip.putNextEntry(entry);
            zip.write(content);
            zip.closeEntry();
        }
    }

    static Content unzip(byte[] zipped) {
        Map<String, byte[]> files = new LinkedHashMap<>();
        try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(zipped))) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                files.put(entry.getName(), zip.readAllBytes());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        byte[] config = files.get(LoraAdapter.CONFIG_FILE);
        byte[] weights = files.get(LoraAdapter.WEIGHTS_FILE);
        if (config == null || weights == null) {
            throw new LearnException("an adapter's zip lacks one of its files");
        }
        return new Content(config, weights);
    }

    /** The adapter with all numbers rounded to the nearest bfloat16, ties to even. */
    static Content rounded(Content content) {
        Safetensors file = Safetensors.of(Path.of("adapter"), MemorySegment.ofArray(content.weights()));
        List<Tensor> tensors = new ArrayList<>();
        file.tensors().forEach((name, tensor) -> tensors.add(rounded(tensor)));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try {
            Safetensors.write(Channels.newChannel(out), file.metadata(), tensors);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new Content(content.config(), out.toByteArray());
    }

    private static Tensor rounded(Tensor tensor) {
        if (tensor.type() != TensorType.F32) {
            return tensor;
        }
        long count = tensor.data().byteSize() / Float.BYTES;
        MemorySegment halves = MemorySegment.ofArray(new byte[Math.toIntExact(count * Short.BYTES)]);
        for (long i = 0; i < count; i++) {
            int bits = Float.floatToRawIntBits(tensor.data().get(FLOAT, i * Float.BYTES));
            int tie = (bits >>> 16) & 1;
            halves.set(SHORT, i * Short.BYTES, (short) ((bits + 0x7fff + tie) >>> 16));
        }
        return new Tensor(tensor.name(), TensorType.BF16, tensor.shape(), halves);
    }

    /** Writes an adapter's zip in parts of at most 15 MiB; returns their names. */
    static List<String> save(Path folder, Content content) throws IOException {
        byte[] zip = content.zip();
        String name = "adapter-" + content.version().substring(7, 19) + ".zip";
        List<String> names = new ArrayList<>();
        Files.createDirectories(folder);
        for (int at = 0, part = 0; at < zip.length; at += PART, part++) {
            String file = zip.length <= PART ? name : name + "." + part;
            Files.write(folder.resolve(file), Arrays.copyOfRange(zip, at, Math.min(zip.length, at + PART)));
            names.add(file);
        }
        return names;
    }

    /** Reads what {@link #save} wrote. */
    static Content read(Path folder, List<String> names) throws IOException {
        ByteArrayOutputStream zip = new ByteArrayOutputStream();
        for (String name : names) {
            zip.write(Files.readAllBytes(folder.resolve(name)));
        }
        return unzip(zip.toByteArray());
    }
}
