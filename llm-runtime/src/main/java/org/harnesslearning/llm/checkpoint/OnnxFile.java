package org.harnesslearning.llm.checkpoint;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** What a serialised ONNX model (onnx.proto) says of its inputs, outputs and further files; the rest is skipped. */
final class OnnxFile {

    private final Path path;
    private final Map<String, Value> inputs = new LinkedHashMap<>();
    private final Map<String, Value> outputs = new LinkedHashMap<>();
    private final Set<String> dataFiles = new TreeSet<>();

    /**
     * An input or output.
     *
     * @param type ONNX's number of the element type
     * @param shape dimensions; −1 for one that is not fixed
     */
    record Value(int type, List<Long> shape) {}

    private OnnxFile(Path path) {
        this.path = path;
    }

    static OnnxFile read(Path path) {
        OnnxFile file = new OnnxFile(path);
        try (Arena arena = Arena.ofConfined();
                FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            MemorySegment model = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            for (Field field : file.fields(model)) {
                if (field.number == 7) {
                    file.graph(field.data);
                }
            }
        } catch (IOException e) {
            throw new CheckpointException(path, "cannot be read: " + e, e);
        }
        if (file.outputs.isEmpty()) {
            throw new CheckpointException(path, "is no ONNX model: it has no outputs");
        }
        return file;
    }

    Map<String, Value> inputs() {
        return inputs;
    }

    Map<String, Value> outputs() {
        return outputs;
    }

    /** Names of the files beside it that hold weights. */
    Set<String> dataFiles() {
        return dataFiles;
    }

    private void graph(MemorySegment graph) {
        for (Field field : fields(graph)) {
            switch (field.number) {
                case 5 -> initialiser(field.data);
                case 11 -> value(field.data, inputs);
                case 12 -> value(field.data, outputs);
                default -> {}
            }
        }
    }

    private void initialiser(MemorySegment tensor) {
        for (Field field : fields(tensor)) {
            if (field.number == 13) { // external_data: a key and a value
                List<Field> entry = fields(field.data);
                if (text(entry, 1).equals("location")) {
                    dataFiles.add(text(entry, 2));
                }
            }
        }
    }

    private void value(MemorySegment info, Map<String, Value> target) {
        List<Field> entry = fields(info);
        int type = 0;
        List<Long> shape = new ArrayList<>();
        for (Field field : nested(nested(entry, 2), 1)) {
            if (field.number == 1) {
                type = (int) field.integer;
            } else if (field.number == 2) {
                for (Field dimension : fields(field.data)) {
                    long size = -1;
                    for (Field part : fields(dimension.data)) {
                        size = part.number == 1 ? part.integer : size;
                    }
                    shape.add(size);
                }
            }
        }
        target.put(text(entry, 1), new Value(type, List.copyOf(shape)));
    }

    private List<Field> nested(List<Field> fields, int number) {
        return fields.stream()
                .filter(field -> field.number == number)
                .findFirst()
                .map(field -> fields(field.data))
                .orElse(List.of());
    }

    private static String text(List<Field> fields, int number) {
        return fields.stream()
                .filter(field -> field.number == number)
                .findFirst()
                .map(field -> new String(field.data.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8))
                .orElse("");
    }

    /** One field of a protocol buffer message: a number, or bytes. */
    private record Field(int number, long integer, MemorySegment data) {}

    private List<Field> fields(MemorySegment message) {
        List<Field> fields = new ArrayList<>();
        Cursor cursor = new Cursor(message);
        while (cursor.at < message.byteSize()) {
            long tag = cursor.varint();
            int number = (int) (tag >>> 3);
            switch ((int) (tag & 7)) {
                case 0 -> fields.add(new Field(number, cursor.varint(), MemorySegment.NULL));
                case 1 -> cursor.bytes(8);
                case 2 -> fields.add(new Field(number, 0, cursor.bytes(cursor.varint())));
                case 5 -> cursor.bytes(4);
                default -> throw damaged();
            }
        }
        return fields;
    }

    private CheckpointException damaged() {
        return new CheckpointException(path, "is no ONNX model, or damaged");
    }

    private final class Cursor {

        private final MemorySegment message;
        private long at;

        Cursor(MemorySegment message) {
            this.message = message;
        }

        long varint() {
            long value = 0;
            for (int shift = 0; shift < 64; shift += 7) {
                byte next = bytes(1).get(ValueLayout.JAVA_BYTE, 0);
                value |= (long) (next & 0x7F) << shift;
                if (next >= 0) {
                    return value;
                }
            }
            throw damaged();
        }

        MemorySegment bytes(long count) {
            if (count < 0 || count > message.byteSize() - at) {
                throw damaged();
            }
            at += count;
            return message.asSlice(at - count, count);
        }
    }
}
