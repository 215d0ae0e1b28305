package org.harnesslearning.llm.ggml;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.harnesslearning.llm.product.MatrixProducts;
import org.harnesslearning.llm.product.Team;
import org.jspecify.annotations.Nullable;

/**
 * Products of inputs with quantised matrices, {@code input × weightᵀ + bias}, by several threads.
 *
 * <p>Inputs are rounded to int8 as ggml does for the matrix's type. Each number of the result is one dot product of its
 * own row and input, computed in the same order whatever else is computed beside it: results do not depend on the number
 * of inputs or threads.
 *
 * <p>Used by one thread at a time, close included.
 */
public final class Products implements MatrixProducts {

    private static final long LEAST_PART_BYTES = 16 << 10;
    private static final long MOST_PART_BYTES = 128 << 10;
    private static final int PARTS_A_THREAD = 6;

    /** ggml computes blocks of so many rows. */
    private static final int ROW_BLOCK = 16;

    private static final int INPUTS_A_PART = 4;

    private final Ggml ggml;
    private final int threads;
    private final Team team;
    private final List<MultiplyGraph> graphs = new ArrayList<>();
    private final List<Product> products = new ArrayList<>();
    private Arena roundedArena = Arena.ofShared();
    private MemorySegment rounded = MemorySegment.NULL;

    /**
     * A matrix.
     *
     * @param data rows of blocks, one after another; must outlive its use
     * @param rows length of an output
     * @param columns length of an input
     * @param bias added to each output
     */
    public record Matrix(TensorType type, MemorySegment data, int rows, int columns, float @Nullable [] bias) {

        public Matrix {
            if (columns % type.blockElements() != 0
                    || data.byteSize() < (long) rows * columns / type.blockElements() * type.blockBytes()
                    || (bias != null && bias.length != rows)) {
                throw new IllegalArgumentException("a matrix of " + rows + " × " + columns + " over other data");
            }
        }

        private long rowBytes() {
            return (long) columns / type.blockElements() * type.blockBytes();
        }
    }

    /** @param threads that compute one product, the calling one included */
    public Products(Ggml ggml, int threads) {
        this.ggml = ggml;
        this.threads = threads;
        this.team = new Team(threads);
        for (int i = 0; i < threads; i++) {
            graphs.add(new MultiplyGraph(ggml));
        }
    }

    /**
     * Adds matrices that are multiplied with one and the same input.
     *
     * @return the product's number
     */
    public int add(Matrix... matrices) {
        products.add(new Product(List.of(matrices)));
        return products.size() - 1;
    }

    @Override
    public int outputs(int product) {
        return products.get(product).matrices.size();
    }

    @Override
    public int rows(int product, int output) {
        return products.get(product).matrices.get(output).rows();
    }

    @Override
    public int columns(int product) {
        return products.get(product).columns;
    }

    @Override
    public void compute(int product, long input, int count, long... outputs) {
        Product own = products.get(product);
        if (count == 0) {
            return;
        }
        long[] rows = round(own, input, count);
        team.run(own.parts.size(), (worker, part) -> {
            Part p = own.parts.get(part);
            Matrix matrix = own.matrices.get(p.matrix);
            long output = outputs[p.matrix] + 4L * p.firstRow;
            graphs.get(worker)
                    .multiply(
                            p.kernel,
                            matrix.type().blockElements(),
                            matrix.data().address() + p.firstRow * matrix.rowBytes(),
                            p.rows,
                            own.columns,
                            rows[p.rounding],
                            count,
                            output,
                            matrix.rows());
            if (matrix.bias() != null) {
                addBias(matrix.bias(), p, output, count, matrix.rows());
            }
        });
    }

    /** Rounds the inputs, once for each form that one of the matrices needs, and returns where they are. */
    @SuppressWarnings("MustBeClosedChecker") // closed when it is outgrown or with this
    private long[] round(Product product, long input, int count) {
        long[] offsets = new long[product.roundings.size()];
        long size = 0;
        for (int i = 0; i < offsets.length; i++) {
            offsets[i] = size;
            size += (product.roundings.get(i).inputRowBytes(product.columns) * count + 63) / 64 * 64;
        }
        if (rounded.byteSize() < size) {
            roundedArena.close();
            roundedArena = Arena.ofShared();
            rounded = roundedArena.allocate(size, 64);
        }
        int parts = (count + INPUTS_A_PART - 1) / INPUTS_A_PART;
        for (int i = 0; i < offsets.length; i++) {
            offsets[i] += rounded.address();
            Ggml.Kernel kernel = product.roundings.get(i);
            long at = offsets[i];
            long rowBytes = kernel.inputRowBytes(product.columns);
            team.run(parts, (worker, part) -> {
                for (long row = (long) part * INPUTS_A_PART;
                        row < Math.min(count, (part + 1L) * INPUTS_A_PART);
                        row++) {
                    try {
                        kernel.quantise()
                                .invokeExact(
                                        MemorySegment.ofAddress(input + row * product.columns * Float.BYTES),
                                        MemorySegment.ofAddress(at + row * rowBytes),
                                        (long) product.columns);
                    } catch (Throwable e) {
                        throw new IllegalStateException("ggml cannot be called", e);
                    }
                }
            });
        }
        return offsets;
    }

    @SuppressWarnings("restricted")
    private static void addBias(float[] bias, Part part, long output, int count, long stride) {
        MemorySegment values =
                MemorySegment.ofAddress(output).reinterpret(((count - 1) * stride + part.rows) * Float.BYTES);
        for (int input = 0; input < count; input++) {
            for (int i = 0; i < part.rows; i++) {
                long at = input * stride + i;
                values.setAtIndex(
                        ValueLayout.JAVA_FLOAT,
                        at,
                        values.getAtIndex(ValueLayout.JAVA_FLOAT, at) + bias[part.firstRow + i]);
            }
        }
    }

    /** Ends the threads; the matrices' memory is no longer read. */
    @Override
    public void close() {
        team.close();
        graphs.forEach(MultiplyGraph::close);
        roundedArena.close();
    }

    /**
     * Some rows of one matrix.
     *
     * @param matrix its number in the product
     * @param rounding the number of the form of the inputs
     */
    private record Part(int matrix, int firstRow, int rows, Ggml.Kernel kernel, int rounding) {}

    private final class Product {

        private final List<Matrix> matrices;
        private final int columns;
        private final List<Part> parts = new ArrayList<>();
        private final List<Ggml.Kernel> roundings = new ArrayList<>();

        Product(List<Matrix> matrices) {
            this.matrices = matrices;
            this.columns = matrices.getFirst().columns();
            long total = matrices.stream()
                    .mapToLong(matrix -> matrix.rowBytes() * matrix.rows())
                    .sum();
            long partBytes = Math.clamp(total / ((long) PARTS_A_THREAD * threads), LEAST_PART_BYTES, MOST_PART_BYTES);
            for (int i = 0; i < matrices.size(); i++) {
                Matrix matrix = matrices.get(i);
                if (matrix.columns() != columns) {
                    throw new IllegalArgumentException(
                            "matrices of " + columns + " and " + matrix.columns() + " columns");
                }
                Ggml.Kernel kernel = ggml.kernel(matrix.type(), "product");
                int rounding = rounding(kernel);
                int step = Math.toIntExact(Math.max(1, partBytes / matrix.rowBytes() / ROW_BLOCK)) * ROW_BLOCK;
                for (int row = 0; row < matrix.rows(); row += step) {
                    parts.add(new Part(i, row, Math.min(step, matrix.rows() - row), kernel, rounding));
                }
            }
        }

        private int rounding(Ggml.Kernel kernel) {
            for (int i = 0; i < roundings.size(); i++) {
                if (roundings.get(i).inputId() == kernel.inputId()) {
                    return i;
                }
            }
            roundings.add(kernel);
            return roundings.size() - 1;
        }
    }
}
