package org.harnesslearning.llm.ggml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.harnesslearning.llm.checkpoint.Dequantiser;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ProductsTest {

    private static final int ROWS = 200;
    private static final int COLUMNS = 512;
    private static final int COUNT = 19;

    private final Arena arena = Arena.ofConfined();
    private final Random random = new Random(7);
    private final MemorySegment input = arena.allocate(ValueLayout.JAVA_FLOAT, (long) COUNT * COLUMNS);

    @BeforeEach
    void fillInput() {
        Assumptions.assumeTrue(Ggml.available() != null, "this machine cannot use ggml");
        for (int i = 0; i < COUNT * COLUMNS; i++) {
            input.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) random.nextGaussian());
        }
    }

    @AfterEach
    void free() {
        arena.close();
    }

    @ParameterizedTest
    @EnumSource(names = {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"})
    void eachInputsResultIsTheSameToTheLastBitWhateverIsComputedBesideIt(TensorType type) {
        Products.Matrix matrix = matrix(type, ROWS, null);
        float[] together;
        try (Products products = new Products(ggml(), 3)) {
            together =
                    compute(products, products.add(matrix), input, COUNT, ROWS).getFirst();
        }
        try (Products products = new Products(ggml(), 1)) {
            int product = products.add(matrix);
            for (int i = 0; i < COUNT; i++) {
                float[] alone = compute(products, product, row(i), 1, ROWS).getFirst();
                assertThat(alone).containsExactly(Arrays.copyOfRange(together, i * ROWS, (i + 1) * ROWS));
            }
        }
    }

    @Test
    void matricesOfDifferentTypesAndHeightsShareAnInputAndAddTheirBiases() {
        float[] bias = new float[ROWS];
        for (int i = 0; i < ROWS; i++) {
            bias[i] = i - 100;
        }
        List<Products.Matrix> matrices = List.of(
                matrix(TensorType.Q4_K, ROWS, bias),
                matrix(TensorType.Q8_0, 33, null),
                matrix(TensorType.Q6_K, 1, new float[] {3}));
        try (Products products = new Products(ggml(), 2)) {
            int product = products.add(matrices.toArray(Products.Matrix[]::new));
            List<float[]> outputs = compute(products, product, input, COUNT, ROWS, 33, 1);
            for (int m = 0; m < matrices.size(); m++) {
                assertThat(relativeError(matrices.get(m), outputs.get(m))).isLessThan(0.02);
            }
        }
    }

    @Test
    void aMatrixThatDoesNotFitItsDataIsRefused() {
        Products.Matrix matrix = matrix(TensorType.Q4_K, ROWS, null);
        assertThatThrownBy(() -> new Products.Matrix(TensorType.Q4_K, matrix.data(), ROWS + 1, COLUMNS, null))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Products.Matrix(TensorType.Q4_K, matrix.data(), ROWS, COLUMNS - 32, null))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Products.Matrix(TensorType.Q4_K, matrix.data(), ROWS, COLUMNS, new float[1]))
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static Ggml ggml() {
        Ggml ggml = Ggml.available();
        if (ggml == null) {
            throw new IllegalStateException("this machine cannot use ggml");
        }
        return ggml;
    }

    private Products.Matrix matrix(TensorType type, int rows, float[] bias) {
        return new Products.Matrix(type, Ggml.randomWeights(arena, type, rows, COLUMNS, random), rows, COLUMNS, bias);
    }

    private MemorySegment row(int index) {
        return input.asSlice(4L * index * COLUMNS, 4L * COLUMNS);
    }

    private List<float[]> compute(Products products, int product, MemorySegment from, int count, int... rows) {
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

    private double relativeError(Products.Matrix matrix, float[] output) {
        Tensor tensor = new Tensor(
                "matrix", matrix.type(), List.of((long) matrix.rows(), (long) matrix.columns()), matrix.data());
        float[] weights = new float[COLUMNS];
        double power = 0;
        double error = 0;
        for (int i = 0; i < matrix.rows(); i++) {
            Dequantiser.row(tensor, i, weights, 0);
            for (int j = 0; j < COUNT; j++) {
                double exact = 0;
                for (int k = 0; k < COLUMNS; k++) {
                    exact += (double) weights[k] * input.getAtIndex(ValueLayout.JAVA_FLOAT, (long) j * COLUMNS + k);
                }
                power += exact * exact;
                double computed = output[j * matrix.rows() + i] - (matrix.bias() == null ? 0 : matrix.bias()[i]);
                error += (exact - computed) * (exact - computed);
            }
        }
        return Math.sqrt(error / power);
    }
}
