package org.harnesslearning.llm.graph;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Writes the protocol buffer wire format: tag, then varint, four bytes, or length and bytes. */
final class ProtoWriter {

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    ProtoWriter integer(int field, long value) {
        varint((long) field << 3);
        varint(value);
        return this;
    }

    ProtoWriter real(int field, float value) {
        varint((long) field << 3 | 5);
        int bits = Float.floatToIntBits(value);
        for (int shift = 0; shift < 32; shift += 8) {
            out.write(bits >>> shift);
        }
        return this;
    }

    ProtoWriter bytes(int field, byte[] value) {
        varint((long) field << 3 | 2);
        varint(value.length);
        out.writeBytes(value);
        return this;
    }

    ProtoWriter text(int field, String value) {
        return bytes(field, value.getBytes(StandardCharsets.UTF_8));
    }

    ProtoWriter message(int field, ProtoWriter value) {
        return bytes(field, value.toByteArray());
    }

    byte[] toByteArray() {
        return out.toByteArray();
    }

    private void varint(long value) {
        long rest = value;
        while ((rest & ~0x7FL) != 0) {
            out.write((int) (rest & 0x7F | 0x80));
            rest >>>= 7;
        }
        out.write((int) rest);
    }
}
