package org.harnesslearning.llm.vnni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.harnesslearning.llm.checkpoint.Dequantiser;
import org.harnesslearning.llm.checkpoint.GgufWriter;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.harnesslearning.llm.graph.StoredMatrix;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TiledProductsTest {

    private static final int ROWS = 48;
    private static final int COLUMNS = 512;
    private static final int COUNT = 23;
    private static final float MOST = Byte.MAX_VALUE;

    private final Arena arena = Arena.ofShared();
    private final Random random = new Random(7);
    private final MemorySegment input = arena.allocate(ValueLayout.JAVA_FLOAT, (long) COUNT * COLUMNS);

    @BeforeEach
    void needKernels() {
        Assumptions.assumeTrue(Vnni.available() != null, "this processor has no 512-bit byte products");
        for (int i = 0; i < COUNT * COLUMNS; i++) {
            set(i, (float) random.nextGaussian());
        }
    }

    @AfterEach
    void free() {
        arena.close();
    }

    @ParameterizedTest
    @EnumSource(names = {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"})
    void inputsThatNeedNoRoundingAreMultipliedExactly(TensorType type) {
        Tensor weight = weight(type, ROWS, COLUMNS);
        float[] bias = new float[ROWS];
        for (int i = 0; i < ROWS; i++) {
            bias[i] = i - 20;
        }
        for (int i = 0; i < COUNT * COLUMNS; i++) {
            // Whole numbers, the largest of which stands in every block.
            set(i, i % 16 == 3 ? -MOST : random.nextInt(255) - MOST);
        }
        try (TiledProducts products = new TiledProducts(kernels(), 2)) {
            int product = products.add(List.of(tiled(weight, bias)));
            for (int count = 1; count <= COUNT; count++) {
                float[] output = compute(products, product, input, count, ROWS).getFirst();
                assertThat(relativeError(weight, bias, output, count))
                        .as("%d inputs", count)
                        .isLessThan(1e-6);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"})
    void otherInputsLoseWhatAScaleForEachBlockLoses(TensorType type) {
        Tensor weight = weight(type, ROWS, COLUMNS);
        try (TiledProducts products = new TiledProducts(kernels(), 2)) {
            int product = products.add(List.of(tiled(weight, null)));
            // One input is a million times larger than the others, and one is zero.
            for (int i = 0; i < COLUMNS; i++) {
                set(COLUMNS + i, 1e6f * (float) random.nextGaussian());
                set(2 * COLUMNS + i, 0);
            }
            float[] output = compute(products, product, input, COUNT, ROWS).getFirst();
            for (int i = 0; i < COUNT; i++) {
                float[] own = Arrays.copyOfRange(output, i * ROWS, (i + 1) * ROWS);
                if (i == 2) {
                    assertThat(own).containsOnly(0);
                } else {
                    assertThat(relativeError(weight, null, own, 1, i)).isLessThan(0.02);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"Q4_0", "Q4_K", "Q5_K", "Q6_K", "Q8_0"})
    void eachInputsResultIsTheSameToTheLastBitWhateverIsComputedBesideIt(TensorType type) {
        TiledMatrix matrix = tiled(weight(type, ROWS, COLUMNS), null);
        float[] together;
        try (TiledProducts products = new TiledProducts(kernels(), 3)) {
            together = compute(products, products.add(List.of(matrix)), input, COUNT, ROWS)
                    .getFirst();
        }
        try (TiledProducts products = new TiledProducts(kernels(), 1)) {
            int product = products.add(List.of(matrix));
            for (int i = 0; i < COUNT; i++) {
                MemorySegment row = input.asSlice(4L * i * COLUMNS, 4L * COLUMNS);
                assertThat(compute(products, product, row, 1, ROWS).getFirst())
                        .containsExactly(Arrays.copyOfRange(together, i * ROWS, (i + 1) * ROWS));
            }
        }
    }

    @Test
    void matricesOfDifferentBlocksAndHeightsShareAnInput() {
        List<Tensor> weights = List.of(
                weight(TensorType.Q4_K, ROWS, COLUMNS),
                weight(TensorType.Q6_K, 16, COLUMNS),
                weight(TensorType.Q8_0, 1600, COLUMNS));
        try (TiledProducts products = new TiledProducts(kernels(), 2)) {
            products.add(List.of(tiled(weight(TensorType.Q6_K, 16, 2 * COLUMNS), null))); // has wider inputs
            int product = products.add(
                    weights.stream().map(weight -> tiled(weight, null)).toList());
            List<float[]> outputs = compute(products, product, input, COUNT, ROWS, 16, 1600);
            for (int i = 0; i < weights.size(); i++) {
                assertThat(relativeError(weights.get(i), null, outputs.get(i), COUNT))
                        .isLessThan(0.02);
            }
        }
    }

    @Test
    void whatIsNoNumberOrInfiniteSpoilsItsOwnInputsResultsOnly() {
        TiledMatrix matrix = tiled(weight(TensorType.Q4_K, ROWS, COLUMNS), null);
        set(3 * COLUMNS + 40, Float.NaN);
        set(5 * COLUMNS + 500, Float.POSITIVE_INFINITY);
        try (TiledProducts products = new TiledProducts(kernels(), 2)) {
            float[] output = compute(products, products.add(List.of(matrix)), input, COUNT, ROWS)
                    .getFirst();
            for (int i = 0; i < output.length; i++) {
                boolean spoilt = i / ROWS == 3 || i / ROWS == 5;
                assertThat(Float.isFinite(output[i])).as("input %d", i / ROWS).isEqualTo(!spoilt);
            }
        }
    }

    @Test
    void aMatrixWhoseRowsFillNoTileIsRefused() {
        Tensor weight = weight(TensorType.Q4_0, 40, COLUMNS);
        assertThat(TiledMatrix.fits(weight)).isFalse();
        assertThatThrownBy(() -> tiled(weight, null)).isInstanceOf(IllegalArgumentException.class);
    }

    private static Vnni kernels() {
        Vnni vnni = Vnni.available();
        if (vnni == null) {
            throw new IllegalStateException("this processor has no 512-bit byte products");
        }
        return vnni;
    }

    private TiledMatrix tiled(Tensor weight, float[] bias) {
        return TiledMatrix.of(StoredMatrix.natural(weight, bias), bytes -> arena.allocate(bytes, 64));
    }

    private Tensor weight(TensorType type, int rows, int columns) {
        byte[] blocks = GgufWriter.blocks(type, rows, columns, random);
        MemorySegment data = arena.allocate(blocks.length, 32);
        MemorySegment.copy(blocks, 0, data, ValueLayout.JAVA_BYTE, 0, blocks.length);
        return new Tensor("weight", type, List.of((long) rows, (long) columns), data);
    }

    private void set(int index, float value) {
        input.setAtIndex(ValueLayout.JAVA_FLOAT, index, value);
    }

    private List<float[]> compute(TiledProducts products, int product, MemorySegment from, int count, int... rows) {
        List<MemorySegment> outputs = Arrays.stream(rows)
                .mapToObj(height -> arena.allocate(ValueLayout.JAVA_FLOAT, (long) count * height))
                .toList();
        products.compute(
                product,
                from.address(),
                count,
                outputs.stream().mapToLong(MemorySegment::address).toArray());
        return outputs.stream()
                .map(output -> output.toArray(ValueLayout.JAVA_FLOAT))
                .toList();
    }

    private double relativeError(Tensor weight, float[] bias, float[] output, int count) {
        return relativeError(weight, bias, output, count, 0);
    }

    /** Root mean square of the differences over that of the exact products of {@code count} inputs. */
    private double relativeError(Tensor weight, float[] bias, float[] output, int count, int firstInput) {
        int rows = Math.toIntExact(weight.shape().getFirst());
        float[] weights = new float[COLUMNS];
        double power = 0;
        double error = 0;
        for (int i = 0; i < rows; i++) {
            Dequantiser.row(weight, i, weights, 0);
            for (int j = 0; j < count; j++) {
                double exact = bias == null ? 0 : bias[i];
                for (int k = 0; k < COLUMNS; k++) {
                    exact += (double) weights[k]
                            * input.getAtIndex(ValueLayout.JAVA_FLOAT, (long) (firstInput + j) * COLUMNS + k);
                }
                power += exact * exact;
                error += (exact - output[j * rows + i]) * (exact - output[j * rows + i]);
            }
        }
        return Math.sqrt(error / power);
    }
}
