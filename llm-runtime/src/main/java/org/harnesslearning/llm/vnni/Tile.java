package org.harnesslearning.llm.vnni;

/**
 * How a matrix lies in memory: in tiles of {@value #ROWS} rows, each of which has its rows' biases and then, for each
 * block of columns, the rows' quants, scales and (where there are) minimums. A weight is {@code scale × quant − minimum}.
 *
 * <p>Quants stand in words of 32 bits, row after row for the same columns: four columns of 8 bits, or eight of 4 bits, the
 * first four of which are the low halves of the word's bytes.
 *
 * @param bits of a quant, 4 or 8
 * @param block columns with a common scale, 16 or 32
 * @param minimums whether minimums are stored; else each is {@link #zero()} × scale
 */
record Tile(int bits, int block, boolean minimums) {

    static final int ROWS = 16;

    /** Bytes of a number for each row. */
    static final int LINE = ROWS * Float.BYTES;

    Tile {
        if (bits != 4 && bits != 8 || block != 16 && block != 32) {
            throw new IllegalArgumentException(bits + " bits in blocks of " + block);
        }
    }

    /** The quant that stands for a weight of zero, where there are no minimums. */
    int zero() {
        return 1 << bits - 1;
    }

    /** Columns in a word of quants. */
    int wordColumns() {
        return Integer.SIZE / bits;
    }

    int quantBytes() {
        return ROWS * block * bits / Byte.SIZE;
    }

    int blockBytes() {
        return quantBytes() + LINE + (minimums ? LINE : 0);
    }

    long tileBytes(int columns) {
        return LINE + (long) columns / block * blockBytes();
    }
}
