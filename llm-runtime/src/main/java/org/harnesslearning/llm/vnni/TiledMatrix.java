package org.harnesslearning.llm.vnni;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.function.LongFunction;
import java.util.stream.IntStream;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.harnesslearning.llm.graph.StoredMatrix;

/**
 * A quantised matrix in the form that the kernels read.
 *
 * @param data tiles, one after another; must outlive its use
 * @param rows length of an output, a multiple of {@value Tile#ROWS}
 * @param columns length of an input
 * @param tile how it lies there
 */
public record TiledMatrix(MemorySegment data, int rows, int columns, Tile tile) {

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int LOW_NIBBLES = 0x0F0F0F0F;

    /** Whether a tensor can be rearranged. */
    public static boolean fits(Tensor weight) {
        return weight.type().quantised() && weight.shape().getFirst() % Tile.ROWS == 0;
    }

    /**
     * Rearranges a matrix, without loss.
     *
     * @param memory provides so many bytes, best in large pages
     */
    public static TiledMatrix of(StoredMatrix stored, LongFunction<MemorySegment> memory) {
        int rows = Math.toIntExact(stored.weight().shape().getFirst());
        int columns = Math.toIntExact(stored.weight().shape().getLast());
        StoredMatrix.Form form = stored.form();
        Tile tile = new Tile(form.bits(), form.block(), form.offset());
        if (!fits(stored.weight())) {
            throw new IllegalArgumentException(stored.weight().name() + " has " + rows + " rows");
        }
        long tileBytes = tile.tileBytes(columns);
        MemorySegment data = memory.apply(rows / Tile.ROWS * tileBytes);
        IntStream.range(0, rows / Tile.ROWS)
                .parallel()
                .forEach(i -> fill(stored, i * Tile.ROWS, columns, tile, data.asSlice(i * tileBytes, tileBytes)));
        return new TiledMatrix(data, rows, columns, tile);
    }

    private static void fill(StoredMatrix stored, int firstRow, int columns, Tile tile, MemorySegment target) {
        int blocks = columns / tile.block();
        int rowBytes = columns * tile.bits() / Byte.SIZE;
        MemorySegment quants = MemorySegment.ofArray(new byte[Tile.ROWS * rowBytes]);
        float[] scales = new float[Tile.ROWS * blocks];
        float[] offsets = new float[tile.minimums() ? scales.length : 0];
        stored.pack(
                firstRow,
                Tile.ROWS,
                quants,
                MemorySegment.ofArray(scales),
                tile.minimums() ? MemorySegment.ofArray(offsets) : MemorySegment.NULL);
        float[] bias = stored.bias();
        for (int row = 0; row < Tile.ROWS; row++) {
            target.set(FLOAT, 4L * row, bias == null ? 0 : bias[firstRow + row]);
        }
        int words = tile.block() / tile.wordColumns();
        long at = Tile.LINE;
        for (int block = 0; block < blocks; block++, at += tile.blockBytes()) {
            for (int row = 0; row < Tile.ROWS; row++) {
                long from = (long) row * rowBytes + (long) block * words * Integer.BYTES;
                long to = at + 4L * row;
                for (int word = 0; word < words; word++) {
                    int quant = quants.get(INT, from + 4L * word);
                    target.set(INT, to + (long) word * Tile.LINE, tile.bits() == 4 ? halves(quant) : quant);
                }
                int index = row * blocks + block;
                target.set(FLOAT, to + tile.quantBytes(), scales[index]);
                if (tile.minimums()) {
                    target.set(FLOAT, to + tile.quantBytes() + Tile.LINE, scales[index] * tile.zero() - offsets[index]);
                }
            }
        }
    }

    /** Eight nibbles, of which the first four go to the low halves of the bytes. */
    private static int halves(int nibbles) {
        return Integer.expand(nibbles, LOW_NIBBLES) | Integer.expand(nibbles >>> 16, LOW_NIBBLES) << 4;
    }
}
