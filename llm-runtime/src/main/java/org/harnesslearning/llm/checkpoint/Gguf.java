package org.harnesslearning.llm.checkpoint;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A GGUF file, version 2 or 3, mapped into memory (ggml's {@code docs/gguf.md}).
 *
 * <p>Every count, length and offset is checked against the file's size before it is used, so that a damaged file gives
 * a {@link CheckpointException} and never a fault or a huge allocation.
 */
public final class Gguf implements AutoCloseable {

    private static final int MAGIC = 0x46554747; // "GGUF", little-endian
    private static final int MAX_DIMENSIONS = 4;
    private static final int MAX_NESTING = 4;
    private static final long MAX_NAME_BYTES = 65_535;
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final Path path;
    private final Arena arena;
    private final MemorySegment file;
    private final Map<String, Object> metadata = new LinkedHashMap<>();
    private final Map<String, Tensor> tensors = new LinkedHashMap<>();
    private long position;

    private Gguf(Path path, Arena arena, MemorySegment file) {
        this.path = path;
        this.arena = arena;
        this.file = file;
    }

    /**
     * Maps the file and reads its header.
     *
     * @throws CheckpointException if it is not there, not a GGUF file, truncated, or uses an unknown type
     */
    @SuppressWarnings("MustBeClosedChecker") // the result owns the arena
    public static Gguf open(Path path) {
        if (!Files.isRegularFile(path)) {
            throw new CheckpointException(path, "no such file");
        }
        Arena arena = Arena.ofShared();
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            Gguf gguf = new Gguf(path, arena, channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena));
            gguf.readHeader();
            return gguf;
        } catch (IOException e) {
            arena.close();
            throw new CheckpointException(path, "cannot be read: " + e.getMessage(), e);
        } catch (RuntimeException e) {
            arena.close();
            throw e;
        }
    }

    /** The file. */
    public Path path() {
        return path;
    }

    /**
     * Key-value pairs in file order. Integers of up to 32 bits (unsigned 32-bit ones included) and 64 bits come as
     * {@link Long}, floats as {@link Double}, also {@link Boolean}, {@link String} and unmodifiable {@link List} of
     * these.
     */
    public Map<String, Object> metadata() {
        return Collections.unmodifiableMap(metadata);
    }

    /** Tensors by name, in file order. */
    public Map<String, Tensor> tensors() {
        return Collections.unmodifiableMap(tensors);
    }

    /** Unmaps the file; its tensors' data cannot be read afterwards. */
    @Override
    public void close() {
        arena.close();
    }

    private void readHeader() {
        if (file.byteSize() < 4 || file.get(INT, 0) != MAGIC) {
            throw fail("not a GGUF file (it does not begin with \"GGUF\")");
        }
        position = 4;
        int version = readInt("version");
        if (version != 2 && version != 3) {
            throw fail("GGUF version " + Integer.toUnsignedString(version) + " is not supported, only 2 and 3");
        }
        long tensorCount = readCount("tensor count", 8 + 4 + 8 + 4 + 8);
        long pairCount = readCount("metadata count", 8 + 4 + 1);
        for (long i = 0; i < pairCount; i++) {
            String key = readString("metadata key", MAX_NAME_BYTES);
            if (metadata.putIfAbsent(key, readValue(key, readInt("type of " + key), 0)) != null) {
                throw fail("metadata key " + key + " occurs twice");
            }
        }
        List<Entry> entries = new ArrayList<>();
        for (long i = 0; i < tensorCount; i++) {
            entries.add(readEntry());
        }
        long alignment = metadata.getOrDefault("general.alignment", 32L) instanceof Long a ? a : -1;
        if (alignment < 1 || alignment > 1 << 20 || Long.bitCount(alignment) != 1) {
            throw fail("general.alignment is not a power of two");
        }
        long start = (position + alignment - 1) / alignment * alignment;
        for (Entry entry : entries) {
            addTensor(entry, start, alignment);
        }
    }

    private void addTensor(Entry entry, long start, long alignment) {
        TensorType type = entry.type();
        long elements = 1;
        for (long dimension : entry.shape()) {
            if (dimension <= 0 || dimension > Long.MAX_VALUE / 1024 / elements) {
                throw fail("tensor " + entry.name() + " has impossible dimensions " + entry.shape());
            }
            elements *= dimension;
        }
        if (entry.shape().getLast() % type.blockElements() != 0) {
            throw fail("tensor " + entry.name() + ": rows of " + entry.shape().getLast()
                    + " do not divide into blocks of " + type);
        }
        long bytes = elements / type.blockElements() * type.blockBytes();
        long available = file.byteSize() - start;
        if (entry.offset() < 0 || entry.offset() % alignment != 0) {
            throw fail("tensor " + entry.name() + " has a bad offset");
        }
        if (entry.offset() > available || bytes > available - entry.offset()) {
            throw fail("truncated: tensor " + entry.name() + " needs " + bytes + " bytes at " + (start + entry.offset())
                    + ", the file has " + file.byteSize());
        }
        MemorySegment data = file.asSlice(start + entry.offset(), bytes);
        if (tensors.putIfAbsent(entry.name(), new Tensor(entry.name(), type, entry.shape(), data)) != null) {
            throw fail("tensor " + entry.name() + " occurs twice");
        }
    }

    private Entry readEntry() {
        String name = readString("tensor name", MAX_NAME_BYTES);
        int dimensions = readInt("dimensions of " + name);
        if (dimensions < 1 || dimensions > MAX_DIMENSIONS) {
            throw fail("tensor " + name + " has " + Integer.toUnsignedString(dimensions) + " dimensions");
        }
        List<Long> shape = new ArrayList<>();
        for (int i = 0; i < dimensions; i++) {
            shape.addFirst(readLong("dimensions of " + name)); // the file lists the fastest first
        }
        int typeId = readInt("type of " + name);
        for (TensorType type : TensorType.values()) {
            if (type.id() == typeId) {
                return new Entry(name, shape, type, readLong("offset of " + name));
            }
        }
        throw fail("tensor " + name + " has type number " + Integer.toUnsignedString(typeId)
                + ", which is not supported (F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K are)");
    }

    private Object readValue(String key, int type, int depth) {
        return switch (type) {
            case 0 -> (long) Byte.toUnsignedInt(readByte(key));
            case 1 -> (long) readByte(key);
            case 2 -> (long) Short.toUnsignedInt(readShort(key));
            case 3 -> (long) readShort(key);
            case 4 -> Integer.toUnsignedLong(readInt(key));
            case 5 -> (long) readInt(key);
            case 6 -> (double) Float.intBitsToFloat(readInt(key));
            case 7 -> readByte(key) != 0;
            case 8 -> readString(key, Integer.MAX_VALUE - 8);
            case 9 -> readList(key, depth);
            case 10, 11 -> readLong(key);
            case 12 -> Double.longBitsToDouble(readLong(key));
            default -> throw fail("metadata key " + key + " has unknown type " + Integer.toUnsignedString(type));
        };
    }

    private List<Object> readList(String key, int depth) {
        if (depth >= MAX_NESTING) {
            throw fail("metadata key " + key + " is nested too deeply");
        }
        int type = readInt(key);
        long minimum = switch (type) {
            case 0, 1, 7 -> 1;
            case 2, 3 -> 2;
            case 4, 5, 6 -> 4;
            case 9 -> 12;
            default -> 8;
        };
        long count = readCount("length of " + key, minimum);
        List<Object> values = new ArrayList<>((int) Math.min(count, 1 << 20));
        for (long i = 0; i < count; i++) {
            values.add(readValue(key, type, depth + 1));
        }
        return Collections.unmodifiableList(values);
    }

    /** Reads a count of things that take at least {@code bytesEach}, so that the file's size bounds it. */
    private long readCount(String what, long bytesEach) {
        long count = readLong(what);
        if (count < 0 || count > (file.byteSize() - position) / bytesEach || count > Integer.MAX_VALUE - 8) {
            throw fail(what + " " + Long.toUnsignedString(count) + " is more than the file can hold");
        }
        return count;
    }

    private String readString(String what, long maxBytes) {
        long length = readLong(what);
        if (length < 0 || length > maxBytes || length > file.byteSize() - position) {
            throw fail("truncated or damaged: " + what + " claims " + Long.toUnsignedString(length) + " bytes");
        }
        byte[] bytes = file.asSlice(position, length).toArray(ValueLayout.JAVA_BYTE);
        position += length;
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private byte readByte(String what) {
        return file.get(ValueLayout.JAVA_BYTE, advance(1, what));
    }

    private short readShort(String what) {
        return file.get(SHORT, advance(2, what));
    }

    private int readInt(String what) {
        return file.get(INT, advance(4, what));
    }

    private long readLong(String what) {
        return file.get(LONG, advance(8, what));
    }

    private long advance(int bytes, String what) {
        if (file.byteSize() - position < bytes) {
            throw fail("truncated while reading " + what);
        }
        long at = position;
        position += bytes;
        return at;
    }

    private CheckpointException fail(String reason) {
        return new CheckpointException(path, reason);
    }

    private record Entry(String name, List<Long> shape, TensorType type, long offset) {}
}
