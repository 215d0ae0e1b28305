package org.harnesslearning.llm.vnni;

import org.harnesslearning.llm.vnni.Assembler.Instruction;
import org.harnesslearning.llm.vnni.Assembler.Register;

/**
 * Writes the kernels.
 *
 * <p>Inputs are rounded to int8, with a scale for each block of columns, and stand together in groups of 1 to
 * {@value #MOST_INPUTS}: for each block the inputs' bytes one after the other, then their scales, then the sums of their
 * rounded values.
 */
final class KernelWriter {

    /** Inputs that are multiplied at once: two registers each, and a weight is unpacked once for all. */
    static final int MOST_INPUTS = 8;

    /** How far ahead of its use the matrix is asked for. */
    private static final int AHEAD = 1536;

    private static final int MEMORY_LINE = 64;

    /** With fewer inputs the processor runs ahead by itself. */
    private static final int PREFETCH_FROM = 3;

    // Vector registers of the product; the sums of input i are in i and, of the block, in MOST_INPUTS + i.
    private static final int QUANTS = 16;
    private static final int LOW = 17;
    private static final int HIGH = 18;
    private static final int SCALES = 19;
    private static final int MINIMUMS = 20;
    private static final int SCALED = 21;
    private static final int ZERO = 30;
    private static final int MASK = 31;

    private final Assembler code = new Assembler();

    private KernelWriter() {}

    /** Bytes from one block of a group to the next. */
    static int groupBlockBytes(int inputs, int block) {
        return inputs * (block + 2 * Float.BYTES);
    }

    /**
     * {@code void (tiles, group, output, long tileCount, long blocks, long outputStride)}: multiplies some tiles, one after
     * the other in memory, with a group of inputs. An output is so many floats a tile; the stride leads to the next
     * input's, in bytes. Each number is computed in the same order whatever the size of the group.
     */
    static byte[] product(Tile tile, int inputs) {
        KernelWriter writer = new KernelWriter();
        writer.writeProduct(tile, inputs);
        return writer.code.code();
    }

    /**
     * {@code void (input, bytes, scales, sums, long blocks, long stride)}: rounds one input. The addresses are those of its
     * place in the group's first block, the stride leads to the next block.
     */
    static byte[] rounding(int block) {
        KernelWriter writer = new KernelWriter();
        writer.writeRounding(block);
        return writer.code.code();
    }

    private void writeProduct(Tile tile, int inputs) {
        Register tiles = Register.RDI;
        Register group = Register.RSI;
        Register output = Register.RDX;
        Register tileCount = Register.RCX;
        Register blocks = Register.R8;
        Register stride = Register.R9;
        Register at = Register.R10;
        Register left = Register.R11;
        if (tile.bits() == 4) {
            code.constant(MASK, 0x0F0F0F0F);
        }
        code.constant(ZERO, Float.floatToRawIntBits(tile.zero()));
        int nextTile = code.position();
        code.vector(Instruction.LOAD, 0, 0, tiles, 0); // the biases
        for (int input = 1; input < inputs; input++) {
            code.vector(Instruction.MOVE, input, 0, 0);
        }
        code.add(tiles, Tile.LINE);
        code.move(at, group);
        code.move(left, blocks);
        int nextBlock = code.position();
        for (int line = 0; inputs >= PREFETCH_FROM && line < tile.blockBytes(); line += MEMORY_LINE) {
            code.prefetch(tiles, AHEAD + line);
        }
        for (int input = 0; input < inputs; input++) {
            int sum = MOST_INPUTS + input;
            code.vector(Instruction.XOR, sum, sum, sum);
        }
        for (int words = 0; words < tile.block() / tile.wordColumns(); words++) {
            int column = words * tile.wordColumns();
            code.vector(Instruction.LOAD, QUANTS, 0, tiles, words * Tile.LINE);
            if (tile.bits() == 4) {
                code.vector(Instruction.AND, LOW, QUANTS, MASK);
                code.shiftShorts(QUANTS, QUANTS, 4);
                code.vector(Instruction.AND, HIGH, QUANTS, MASK);
                addProducts(tile, inputs, LOW, at, column);
                addProducts(tile, inputs, HIGH, at, column + 4);
            } else {
                addProducts(tile, inputs, QUANTS, at, column);
            }
        }
        code.vector(Instruction.LOAD, SCALES, 0, tiles, tile.quantBytes());
        if (tile.minimums()) {
            code.vector(Instruction.LOAD, MINIMUMS, 0, tiles, tile.quantBytes() + Tile.LINE);
        } else {
            code.vector(Instruction.MULTIPLY, MINIMUMS, SCALES, ZERO);
        }
        int inputScales = inputs * tile.block();
        int inputSums = inputScales + inputs * Float.BYTES;
        for (int input = 0; input < inputs; input++) {
            int sum = MOST_INPUTS + input;
            code.vector(Instruction.TO_FLOATS, sum, 0, sum);
            code.spread(Instruction.MULTIPLY, SCALED, SCALES, at, inputScales + input * Float.BYTES);
            code.vector(Instruction.ADD_PRODUCT, input, sum, SCALED);
            code.spread(Instruction.SUBTRACT_PRODUCT, input, MINIMUMS, at, inputSums + input * Float.BYTES);
        }
        code.add(tiles, tile.blockBytes());
        code.add(at, groupBlockBytes(inputs, tile.block()));
        code.decrement(left);
        code.repeat(nextBlock);
        code.move(Register.RAX, output);
        for (int input = 0; input < inputs; input++) {
            code.vector(Instruction.STORE, input, 0, Register.RAX, 0);
            code.add(Register.RAX, stride);
        }
        code.add(output, Tile.LINE);
        code.decrement(tileCount);
        code.repeat(nextTile);
        code.finish();
    }

    /** Adds the products of four columns to the block's sums of each input. */
    private void addProducts(Tile tile, int inputs, int quants, Register at, int column) {
        for (int input = 0; input < inputs; input++) {
            code.spread(Instruction.DOT_BYTES, MOST_INPUTS + input, quants, at, input * tile.block() + column);
        }
    }

    private void writeRounding(int block) {
        Register input = Register.RDI;
        Register bytes = Register.RSI;
        Register scales = Register.RDX;
        Register sums = Register.RCX;
        Register blocks = Register.R8;
        Register stride = Register.R9;
        int vectors = block / Tile.ROWS;
        int values = 0;
        int largest = 2;
        int other = 3;
        int factor = 4;
        int magnitude = 16;
        int most = 17;
        int least = 18;
        int fraction = 19;
        code.constant(magnitude, 0x7FFFFFFF);
        code.constant(most, Float.floatToRawIntBits(Byte.MAX_VALUE));
        code.constant(least, Float.floatToRawIntBits(1e-30f)); // a block of zeros has a scale, too
        code.constant(fraction, Float.floatToRawIntBits(1f / Byte.MAX_VALUE));
        int next = code.position();
        for (int i = 0; i < vectors; i++) {
            code.vector(Instruction.LOAD, values + i, 0, input, i * Tile.LINE);
        }
        // Magnitudes compare like integers; as those the largest is a NaN where there is one, so that it is not lost.
        code.vector(Instruction.AND, largest, values, magnitude);
        for (int i = 1; i < vectors; i++) {
            code.vector(Instruction.AND, other, values + i, magnitude);
            code.vector(Instruction.LARGER_UNSIGNED, largest, largest, other);
        }
        acrossElements(Instruction.LARGER_UNSIGNED, largest, other);
        code.vector(Instruction.LARGER_UNSIGNED, largest, largest, least);
        code.vector(Instruction.DIVIDE, factor, most, largest);
        for (int i = 0; i < vectors; i++) {
            code.vector(Instruction.MULTIPLY, values + i, values + i, factor);
            code.vector(Instruction.TO_INTEGERS, values + i, 0, values + i);
            code.vector(Instruction.STORE_BYTES, values + i, 0, bytes, i * Tile.ROWS);
        }
        for (int i = 1; i < vectors; i++) {
            code.vector(Instruction.ADD_INTEGERS, values, values, values + i);
        }
        acrossElements(Instruction.ADD_INTEGERS, values, other);
        code.vector(Instruction.TO_FLOATS, values, 0, values);
        code.vector(Instruction.MULTIPLY, largest, largest, fraction);
        code.vector(Instruction.MULTIPLY, values, values, largest);
        code.vector(Instruction.STORE_FIRST, largest, 0, scales, 0);
        code.vector(Instruction.STORE_FIRST, values, 0, sums, 0);
        code.add(input, block * Float.BYTES);
        code.add(bytes, stride);
        code.add(scales, stride);
        code.add(sums, stride);
        code.decrement(blocks);
        code.repeat(next);
        code.finish();
    }

    /** Combines the 16 elements of a vector; each of them becomes the result. */
    private void acrossElements(Instruction instruction, int vector, int spare) {
        for (int shuffle : new int[] {0x4E, 0xB1}) { // halves, then neighbours
            code.vector(Instruction.SHUFFLE_QUARTERS, spare, vector, vector, shuffle);
            code.vector(instruction, vector, vector, spare);
        }
        for (int shuffle : new int[] {0x4E, 0xB1}) {
            code.vector(Instruction.SHUFFLE_WITHIN_QUARTERS, spare, 0, vector, shuffle);
            code.vector(instruction, vector, vector, spare);
        }
    }
}
