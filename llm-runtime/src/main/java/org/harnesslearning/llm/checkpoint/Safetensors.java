package org.harnesslearning.llm.checkpoint;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A safetensors file, mapped or read into memory: 8 bytes of header length, a JSON header, then the data. */
public final class Safetensors implements AutoCloseable {

    private static final long MAX_WRITE_BYTES = 1 << 30;
    private static final long MAX_HEADER_BYTES = 100_000_000; // the format's own limit
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final Path path;
    private final Runnable unmap;
    private final Map<String, Tensor> tensors = new LinkedHashMap<>();
    private final Map<String, String> metadata = new LinkedHashMap<>();

    private Safetensors(Path path, Runnable unmap) {
        this.path = path;
        this.unmap = unmap;
    }

    /**
     * Maps a file; it is closed after use.
     *
     * @throws CheckpointException if it is missing or damaged
     */
    @SuppressWarnings("MustBeClosedChecker") // the result owns the arena
    public static Safetensors open(Path path) {
        if (!Files.isRegularFile(path)) {
            throw new CheckpointException(path, "no such file");
        }
        Arena arena = Arena.ofShared();
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            Safetensors file = new Safetensors(path, arena::close);
            file.readHeader(channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena));
            return file;
        } catch (IOException e) {
            arena.close();
            throw new CheckpointException(path, "cannot be read: " + e.getMessage(), e);
        } catch (RuntimeException e) {
            arena.close();
            throw e;
        }
    }

    /**
     * Reads a file's content.
     *
     * @param path its name in errors
     * @throws CheckpointException if it is damaged
     */
    public static Safetensors of(Path path, MemorySegment content) {
        Safetensors file = new Safetensors(path, () -> {});
        file.readHeader(content);
        return file;
    }

    /** The texts that its writer added. */
    public Map<String, String> metadata() {
        return Collections.unmodifiableMap(metadata);
    }

    /** The tensors by their names; their data are views of the file. */
    public Map<String, Tensor> tensors() {
        return Collections.unmodifiableMap(tensors);
    }

    @Override
    public void close() {
        unmap.run();
    }

    /**
     * Writes a file.
     *
     * @param metadata texts to add; the same texts and tensors give the same bytes
     * @param tensors in the order in which they are to lie, F32, F16 or BF16
     */
    public static void write(WritableByteChannel target, Map<String, String> metadata, List<Tensor> tensors)
            throws IOException {
        byte[] header = header(metadata, tensors);
        ByteBuffer start = ByteBuffer.allocate(8 + header.length).order(ByteOrder.LITTLE_ENDIAN);
        writeFully(target, start.putLong(header.length).put(header).flip());
        for (Tensor tensor : tensors) {
            for (long at = 0; at < tensor.data().byteSize(); at += MAX_WRITE_BYTES) {
                long bytes = Math.min(MAX_WRITE_BYTES, tensor.data().byteSize() - at);
                writeFully(target, tensor.data().asSlice(at, bytes).asByteBuffer());
            }
        }
    }

    private static void writeFully(WritableByteChannel target, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            target.write(bytes);
        }
    }

    private static byte[] header(Map<String, String> metadata, List<Tensor> tensors) {
        Map<String, Object> entries = new LinkedHashMap<>();
        entries.put("__metadata__", new TreeMap<>(metadata));
        long at = 0;
        for (Tensor tensor : tensors) {
            long end = at + tensor.data().byteSize();
            if (tensor.type().quantised()
                    || end - at != tensor.elements() * tensor.type().blockBytes()) {
                throw new IllegalArgumentException(
                        "tensor " + tensor.name() + " is quantised, or its data do not fit its shape");
            }
            Map<String, Object> entry = new LinkedHashMap<>();
            entry.put("dtype", tensor.type().name());
            entry.put("shape", tensor.shape());
            entry.put("data_offsets", List.of(at, end));
            if (entries.put(tensor.name(), entry) != null) {
                throw new IllegalArgumentException("tensor " + tensor.name() + " occurs twice");
            }
            at = end;
        }
        byte[] json = JSON.writeValueAsBytes(entries);
        // Spaces so that the data are aligned.
        byte[] padded = Arrays.copyOf(json, (json.length + 7) / 8 * 8);
        Arrays.fill(padded, json.length, padded.length, (byte) ' ');
        return padded;
    }

    private void readHeader(MemorySegment file) {
        long size = file.byteSize();
        long length = size < 8 ? -1 : file.get(LONG, 0);
        if (length < 2 || length > MAX_HEADER_BYTES || length > size - 8) {
            throw fail("no safetensors file, or truncated: its header length does not fit");
        }
        JsonNode header;
        try {
            header = JSON.readTree(file.asSlice(8, length).toArray(ValueLayout.JAVA_BYTE));
        } catch (JacksonException e) {
            throw new CheckpointException(path, "its header is no JSON: " + e.getOriginalMessage(), e);
        }
        if (!header.isObject()) {
            throw fail("its header is no JSON object");
        }
        MemorySegment data = file.asSlice(8 + length);
        for (Map.Entry<String, JsonNode> entry : header.properties()) {
            if (entry.getKey().equals("__metadata__")) {
                entry.getValue()
                        .properties()
                        .forEach(text ->
                                metadata.put(text.getKey(), text.getValue().asString("")));
            } else {
                tensors.put(entry.getKey(), tensor(entry.getKey(), entry.getValue(), data));
            }
        }
    }

    private Tensor tensor(String name, JsonNode entry, MemorySegment data) {
        String dtype = entry.path("dtype").asString("");
        TensorType type = switch (dtype) {
            case "F32" -> TensorType.F32;
            case "F16" -> TensorType.F16;
            case "BF16" -> TensorType.BF16;
            default -> throw fail("tensor " + name + " has type " + dtype + " (F32, F16 and BF16 are supported)");
        };
        List<Long> shape = new ArrayList<>();
        long elements = 1;
        for (JsonNode dimension : entry.path("shape")) {
            long value = dimension.isIntegralNumber() ? dimension.asLong() : -1;
            if (value <= 0 || value > Long.MAX_VALUE / 8 / elements) {
                throw fail("tensor " + name + " has impossible dimensions");
            }
            shape.add(value);
            elements *= value;
        }
        JsonNode offsets = entry.path("data_offsets");
        long begin = offsets.path(0).isIntegralNumber() ? offsets.path(0).asLong() : -1;
        long end = offsets.path(1).isIntegralNumber() ? offsets.path(1).asLong() : -1;
        if (shape.isEmpty() || begin < 0 || end < begin || end - begin != elements * type.blockBytes()) {
            throw fail("tensor " + name + ": shape, type and offsets do not agree");
        }
        if (end > data.byteSize()) {
            throw fail("truncated: tensor " + name + " ends at " + end + " of " + data.byteSize() + " data bytes");
        }
        return new Tensor(name, type, shape, data.asSlice(begin, end - begin));
    }

    private CheckpointException fail(String reason) {
        return new CheckpointException(path, reason);
    }
}
