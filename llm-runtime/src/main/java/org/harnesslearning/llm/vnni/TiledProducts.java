package org.harnesslearning.llm.vnni;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.llm.product.MatrixProducts;
import org.harnesslearning.llm.product.Team;

/**
 * Products with {@link TiledMatrix}, by several threads.
 *
 * <p>Inputs are rounded to int8 with a scale for each of the matrix's blocks. Each number of the result is computed from
 * its own row and input in the same order whatever is computed beside it: results depend neither on the number of inputs
 * nor on that of threads. Where an input is infinite or no number, no finite number comes of it.
 */
public final class TiledProducts implements MatrixProducts {

    private static final long LEAST_PART_BYTES = 16 << 10;
    private static final long MOST_PART_BYTES = 192 << 10;
    private static final int PARTS_A_THREAD = 6;
    private static final int ALIGNMENT = 64;

    private final Vnni vnni;
    private final int threads;
    private final Team team;
    private final List<Product> products = new ArrayList<>();

    /** Rounded inputs, by block. */
    private final Map<Integer, Rounded> rounded = new HashMap<>();

    /** @param threads that compute one product, the calling one included */
    public TiledProducts(Vnni vnni, int threads) {
        this.vnni = vnni;
        this.threads = threads;
        this.team = new Team(threads);
    }

    /**
     * Adds matrices that are multiplied with one and the same input.
     *
     * @return the product's number
     */
    public int add(List<TiledMatrix> matrices) {
        products.add(new Product(matrices));
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
        own.inputs.forEach(inputs -> inputs.round(input, count, own.columns));
        team.run(own.parts.size(), (worker, index) -> {
            Part part = own.parts.get(index);
            part.multiply(own.matrices.get(part.matrix), count, outputs[part.matrix]);
        });
    }

    /** Ends the threads; the matrices' memory is no longer read. */
    @Override
    public void close() {
        team.close();
        rounded.values().forEach(Rounded::close);
    }

    private static int groups(int count) {
        return (count + KernelWriter.MOST_INPUTS - 1) / KernelWriter.MOST_INPUTS;
    }

    /** Inputs in a group. */
    private static int size(int group, int count) {
        return Math.min(KernelWriter.MOST_INPUTS, count - group * KernelWriter.MOST_INPUTS);
    }

    /** The inputs of a product, rounded in blocks of one length. */
    private final class Rounded {

        private final int block;
        private final MethodHandle kernel;
        private Arena arena = Arena.ofShared();
        private MemorySegment groups = MemorySegment.NULL;

        Rounded(int block) {
            this.block = block;
            this.kernel = vnni.rounding(block);
        }

        /** Address of a group of a product with so many columns. */
        long group(int index, int columns) {
            return groups.address()
                    + (long) index * KernelWriter.groupBlockBytes(KernelWriter.MOST_INPUTS, block) * (columns / block);
        }

        @SuppressWarnings("MustBeClosedChecker") // closed when it is outgrown or with the products
        void round(long input, int count, int columns) {
            long bytes = (long) groups(count)
                    * KernelWriter.groupBlockBytes(KernelWriter.MOST_INPUTS, block)
                    * (columns / block);
            if (groups.byteSize() < bytes) {
                arena.close();
                arena = Arena.ofShared();
                groups = arena.allocate(bytes, ALIGNMENT);
            }
            team.run(groups(count), (worker, group) -> {
                int size = size(group, count);
                long at = group(group, columns);
                long scales = at + (long) size * block;
                long sums = scales + (long) size * Float.BYTES;
                for (int i = 0; i < size; i++) {
                    call(
                            kernel,
                            input + ((long) group * KernelWriter.MOST_INPUTS + i) * columns * Float.BYTES,
                            at + (long) i * block,
                            scales + (long) i * Float.BYTES,
                            sums + (long) i * Float.BYTES,
                            columns / block,
                            KernelWriter.groupBlockBytes(size, block));
                }
            });
        }

        void close() {
            arena.close();
        }
    }

    private static void call(MethodHandle kernel, long a, long b, long c, long d, long e, long f) {
        try {
            kernel.invokeExact(a, b, c, d, e, f);
        } catch (Throwable failure) {
            throw new IllegalStateException("a kernel cannot be called", failure);
        }
    }

    /**
     * Some tiles of one matrix.
     *
     * @param matrix its number in the product
     * @param inputs rounded for it
     * @param kernels by the size of the group of inputs, less one
     */
    private record Part(int matrix, Rounded inputs, int firstTile, int tiles, MethodHandle[] kernels) {

        void multiply(TiledMatrix own, int count, long output) {
            int columns = own.columns();
            long stride = (long) own.rows() * Float.BYTES;
            for (int group = 0; group < groups(count); group++) {
                call(
                        kernels[size(group, count) - 1],
                        own.data().address() + firstTile * own.tile().tileBytes(columns),
                        inputs.group(group, columns),
                        output + group * KernelWriter.MOST_INPUTS * stride + (long) firstTile * Tile.LINE,
                        tiles,
                        columns / own.tile().block(),
                        stride);
            }
        }
    }

    private final class Product {

        private final List<TiledMatrix> matrices;
        private final int columns;
        private final List<Part> parts = new ArrayList<>();

        /** The input, once for each length of blocks. */
        private final List<Rounded> inputs;

        Product(List<TiledMatrix> matrices) {
            this.matrices = List.copyOf(matrices);
            this.columns = matrices.getFirst().columns();
            this.inputs = matrices.stream()
                    .map(matrix -> matrix.tile().block())
                    .distinct()
                    .map(this::inputs)
                    .toList();
            long total = matrices.stream()
                    .mapToLong(matrix -> matrix.data().byteSize())
                    .sum();
            long partBytes = Math.clamp(total / ((long) PARTS_A_THREAD * threads), LEAST_PART_BYTES, MOST_PART_BYTES);
            for (int i = 0; i < matrices.size(); i++) {
                TiledMatrix matrix = matrices.get(i);
                if (matrix.columns() != columns) {
                    throw new IllegalArgumentException(
                            "matrices of " + columns + " and " + matrix.columns() + " columns");
                }
                int all = matrix.rows() / Tile.ROWS;
                int step = Math.toIntExact(Math.max(1, partBytes / matrix.tile().tileBytes(columns)));
                for (int tile = 0; tile < all; tile += step) {
                    parts.add(new Part(
                            i,
                            inputs(matrix.tile().block()),
                            tile,
                            Math.min(step, all - tile),
                            vnni.products(matrix.tile())));
                }
            }
        }

        private Rounded inputs(int block) {
            return rounded.computeIfAbsent(block, Rounded::new);
        }
    }
}
