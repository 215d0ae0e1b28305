package org.harnesslearning.llm.graph;

import static org.harnesslearning.llm.checkpoint.Dequantiser.half;
import static org.harnesslearning.llm.checkpoint.Dequantiser.subMinimum;
import static org.harnesslearning.llm.checkpoint.Dequantiser.subScale;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.harnesslearning.llm.checkpoint.TensorType;

/**
 * Rearranges quantised matrices into what {@code com.microsoft.MatMulNBits} reads, without loss.
 *
 * <p>The operator computes {@code scale * (q - zero)} with {@code zero} = 8 for 4 bits and 128 for 8 bits. Types that
 * have a minimum per block ({@code scale * q + minimum}) leave {@code offset = zero' * scale + minimum} a block, which
 * the graph adds as (sums of the input over blocks) × offsets.
 */
final class BlockPacker {

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final long LOW_NIBBLES = 0x0F0F0F0F0F0F0F0FL;
    private static final long EVEN_BYTES = 0x00FF00FF00FF00FFL;
    private static final long LOW_PAIRS = 0x0303030303030303L;
    private static final long LOW_BITS = 0x0101010101010101L;

    /** How one stored type appears in the graph. */
    enum Form {
        FOUR_BITS(4, 32, false),
        FOUR_BITS_WITH_OFFSET(4, 32, true),
        EIGHT_BITS(8, 32, false),
        EIGHT_BITS_WITH_OFFSET(8, 32, true),
        EIGHT_BITS_BY_SIXTEEN(8, 16, false);

        final int bits;
        final int block;
        final boolean offset;

        Form(int bits, int block, boolean offset) {
            this.bits = bits;
            this.block = block;
            this.offset = offset;
        }

        /** The form of a quantised type. */
        static Form of(TensorType type) {
            return switch (type) {
                case Q4_0 -> FOUR_BITS;
                case Q4_1, Q4_K -> FOUR_BITS_WITH_OFFSET;
                case Q5_0, Q8_0 -> EIGHT_BITS;
                case Q5_1, Q5_K -> EIGHT_BITS_WITH_OFFSET;
                case Q6_K -> EIGHT_BITS_BY_SIXTEEN;
                case F32, F16, BF16 -> throw new IllegalArgumentException(type + " is not quantised");
            };
        }
    }

    private final MemorySegment source;
    private final MemorySegment quants;
    private final MemorySegment scales;
    private final MemorySegment offsets;

    private BlockPacker(MemorySegment source, MemorySegment quants, MemorySegment scales, MemorySegment offsets) {
        this.source = source;
        this.quants = quants;
        this.scales = scales;
        this.offsets = offsets;
    }

    /**
     * Packs a whole matrix.
     *
     * @param rowOrder the stored row that goes to each row of the result
     * @param quants uint8 (rows, columns / block, block * bits / 8)
     * @param scales float (rows, columns / block)
     * @param offsets float (rows, columns / block); {@link MemorySegment#NULL} for forms without
     */
    static void pack(
            Tensor tensor, RowOrder rowOrder, MemorySegment quants, MemorySegment scales, MemorySegment offsets) {
        pack(tensor, rowOrder, 0, Math.toIntExact(tensor.shape().getFirst()), quants, scales, offsets);
    }

    /** The same with {@code rows} rows of the result from {@code firstRow} on. */
    static void pack(
            Tensor tensor,
            RowOrder rowOrder,
            int firstRow,
            int rows,
            MemorySegment quants,
            MemorySegment scales,
            MemorySegment offsets) {
        int columns = Math.toIntExact(tensor.shape().getLast());
        TensorType type = tensor.type();
        Form form = Form.of(type);
        BlockPacker packer = new BlockPacker(tensor.data(), quants, scales, offsets);
        int storedBlocks = columns / type.blockElements();
        int outputBlocks = type.blockElements() / form.block; // of one stored block
        int outputBytes = form.block * form.bits / 8 * outputBlocks;
        long block = 0;
        for (int row = firstRow; row < firstRow + rows; row++) {
            long at = (long) rowOrder.storedRow(row) * storedBlocks * type.blockBytes();
            for (int i = 0; i < storedBlocks; i++, block++, at += type.blockBytes()) {
                packer.block(type, at, block * outputBytes, block * outputBlocks);
            }
        }
    }

    private void block(TensorType type, long at, long to, long index) {
        switch (type) {
            case Q4_0 -> {
                scale(index, half(source, at));
                halves(at + 2, to);
            }
            case Q4_1 -> {
                scaleAndOffset(index, half(source, at), half(source, at + 2), 8);
                halves(at + 4, to);
            }
            case Q5_0 -> {
                scale(index, half(source, at));
                fives(at + 6, source.get(INT, at + 2), to);
            }
            case Q5_1 -> {
                scaleAndOffset(index, half(source, at), half(source, at + 2), 16);
                fives(at + 8, source.get(INT, at + 4), to);
            }
            case Q8_0 -> {
                scale(index, half(source, at));
                for (int i = 0; i < 32; i += 8) {
                    quants.set(LONG, to + i, source.get(LONG, at + 2 + i) ^ 0x8080808080808080L);
                }
            }
            case Q4_K -> fourBitSuperBlock(at, to, index);
            case Q5_K -> fiveBitSuperBlock(at, to, index);
            case Q6_K -> sixBitSuperBlock(at, to, index);
            case F32, F16, BF16 -> throw new IllegalArgumentException(type + " is not quantised");
        }
    }

    private void scale(long index, float scale) {
        scales.set(FLOAT, index * Float.BYTES, scale);
    }

    private void scaleAndOffset(long index, float scale, float minimum, int zero) {
        scale(index, scale);
        offsets.set(FLOAT, index * Float.BYTES, zero * scale + minimum);
    }

    /** 16 bytes with elements 0–15 in the low and 16–31 in the high nibbles, into neighbouring pairs. */
    private void halves(long at, long to) {
        long first = source.get(LONG, at);
        long second = source.get(LONG, at + 8);
        quants.set(INT, to, pairs(first & LOW_NIBBLES));
        quants.set(INT, to + 4, pairs(second & LOW_NIBBLES));
        quants.set(INT, to + 8, pairs(first >>> 4 & LOW_NIBBLES));
        quants.set(INT, to + 12, pairs(second >>> 4 & LOW_NIBBLES));
    }

    /** Eight nibbles, one a byte, into four bytes. */
    private static int pairs(long nibbles) {
        return (int) Long.compress(nibbles | nibbles >>> 4, EVEN_BYTES);
    }

    private void fives(long at, int high, long to) {
        for (int i = 0; i < 16; i += 8) {
            long nibbles = source.get(LONG, at + i);
            quants.set(LONG, to + i, fifth(nibbles & LOW_NIBBLES, high >>> i));
            quants.set(LONG, to + 16 + i, fifth(nibbles >>> 4 & LOW_NIBBLES, high >>> (16 + i)));
        }
    }

    /** Adds bit 4 of each byte from the eight low bits of {@code high}, and moves the zero from 16 to 128. */
    private static long fifth(long nibbles, int high) {
        return (nibbles | Long.expand(high & 0xFF, LOW_BITS) << 4) + 0x7070707070707070L;
    }

    private void fourBitSuperBlock(long at, long to, long index) {
        float scale = half(source, at);
        float minimum = half(source, at + 2);
        for (int sub = 0; sub < 8; sub++) {
            scaleAndOffset(
                    index + sub, scale * subScale(source, at + 4, sub), -minimum * subMinimum(source, at + 4, sub), 8);
        }
        for (int pair = 0; pair < 4; pair++) {
            for (int i = 0; i < 32; i += 8) {
                long nibbles = source.get(LONG, at + 16 + pair * 32 + i);
                long low = to + pair * 32 + i / 2;
                quants.set(INT, low, pairs(nibbles & LOW_NIBBLES));
                quants.set(INT, low + 16, pairs(nibbles >>> 4 & LOW_NIBBLES));
            }
        }
    }

    private void fiveBitSuperBlock(long at, long to, long index) {
        float scale = half(source, at);
        float minimum = half(source, at + 2);
        for (int sub = 0; sub < 8; sub++) {
            scaleAndOffset(
                    index + sub, scale * subScale(source, at + 4, sub), -minimum * subMinimum(source, at + 4, sub), 16);
            for (int i = 0; i < 32; i += 8) {
                long nibbles = source.get(LONG, at + 48 + sub / 2 * 32 + i) >>> 4 * (sub & 1) & LOW_NIBBLES;
                long fifths = source.get(LONG, at + 16 + i) >>> sub & LOW_BITS;
                quants.set(LONG, to + sub * 32 + i, (nibbles | fifths << 4) + 0x7070707070707070L);
            }
        }
    }

    private void sixBitSuperBlock(long at, long to, long index) {
        float scale = half(source, at + 208);
        for (int sub = 0; sub < 16; sub++) {
            scale(index + sub, scale * source.get(ValueLayout.JAVA_BYTE, at + 192 + sub));
        }
        for (int half = 0; half < 2; half++) {
            for (int quarter = 0; quarter < 4; quarter++) {
                for (int i = 0; i < 32; i += 8) {
                    long low = source.get(LONG, at + half * 64 + (quarter & 1) * 32 + i);
                    long nibbles = (quarter < 2 ? low : low >>> 4) & LOW_NIBBLES;
                    long high = source.get(LONG, at + 128 + half * 32 + i) >>> 2 * quarter & LOW_PAIRS;
                    // Stored zero is 32, the operator's 128.
                    quants.set(LONG, to + half * 128 + quarter * 32 + i, (nibbles | high << 4) + 0x6060606060606060L);
                }
            }
        }
    }
}
