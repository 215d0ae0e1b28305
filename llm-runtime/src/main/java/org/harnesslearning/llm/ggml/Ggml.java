package org.harnesslearning.llm.ggml;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.Random;
import org.harnesslearning.llm.checkpoint.Dequantiser;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * ggml's functions for products with quantised matrices.
 *
 * <p>Layouts are those of ggml of March 2025 (llama.cpp b4916), whose library the build names by version; sizes are
 * asked of the library, and a product is compared with {@link Dequantiser}'s weights before anything else is computed.
 */
public final class Ggml {

    private static final Logger LOG = LoggerFactory.getLogger(Ggml.class);

    /** {@code sizeof(struct ggml_tensor)}, and of the {@code ggml_object} in front of it. */
    static final long TENSOR_BYTES = 336;

    private static final long TENSOR_OVERHEAD = 32 + TENSOR_BYTES;

    /** Most that int8 activations may take from a product, relative to its root mean square. */
    private static final double TOLERANCE = 0.02;

    private static final FunctionDescriptor QUANTISE =
            FunctionDescriptor.ofVoid(ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG);

    private final Linker linker = Linker.nativeLinker();
    private final SymbolLookup symbols;
    private final Functions functions;
    private final Map<TensorType, Kernel> kernels = new EnumMap<>(TensorType.class);

    /**
     * The functions that a thread's graph needs.
     *
     * @param init {@code ggml_init}
     * @param newTensor {@code ggml_new_tensor_2d}
     * @param multiply {@code ggml_mul_mat}
     * @param newGraph {@code ggml_new_graph_custom}
     * @param expand {@code ggml_build_forward_expand}
     * @param compute {@code ggml_graph_compute}
     * @param free {@code ggml_free}
     * @param initPool {@code ggml_threadpool_params_init}
     * @param newPool {@code ggml_threadpool_new}
     * @param freePool {@code ggml_threadpool_free}
     */
    record Functions(
            MethodHandle init,
            MethodHandle newTensor,
            MethodHandle multiply,
            MethodHandle newGraph,
            MethodHandle expand,
            MethodHandle compute,
            MethodHandle free,
            MethodHandle initPool,
            MethodHandle newPool,
            MethodHandle freePool) {}

    /**
     * How one type of weight is multiplied.
     *
     * @param id ggml's number of the type
     * @param blockBytes bytes of a block
     * @param inputId the type to which inputs are rounded
     * @param inputBlock elements of a block of that
     * @param inputBlockBytes bytes of a block of that
     * @param quantise {@code (const float *, void *, int64_t)}: rounds a row of inputs
     */
    record Kernel(int id, int blockBytes, int inputId, int inputBlock, int inputBlockBytes, MethodHandle quantise) {

        /** Bytes of so many rounded inputs, a whole number of blocks. */
        long inputRowBytes(long columns) {
            return columns / inputBlock * inputBlockBytes;
        }
    }

    private static final class Holder {

        private static final @Nullable Ggml INSTANCE = load();

        private static @Nullable Ggml load() {
            try {
                Ggml ggml = new Ggml(NativeLibrary.open());
                ggml.test();
                return ggml;
            } catch (UnavailableException e) {
                LOG.info("ggml is not used: {}", e.getMessage());
                return null;
            }
        }
    }

    /** The library if this machine can use it; it is loaded and tried by the first call, which logs why it can't. */
    public static @Nullable Ggml available() {
        return Holder.INSTANCE;
    }

    private Ggml(SymbolLookup symbols) throws UnavailableException {
        this.symbols = symbols;
        MemoryLayout address = ValueLayout.ADDRESS;
        MemoryLayout integer = ValueLayout.JAVA_INT;
        MemoryLayout size = ValueLayout.JAVA_LONG;
        MemoryLayout initParameters =
                MemoryLayout.structLayout(size, address, ValueLayout.JAVA_BYTE, MemoryLayout.paddingLayout(7));
        try {
            if ((long) function("ggml_tensor_overhead", FunctionDescriptor.of(size))
                            .invokeExact()
                    != TENSOR_OVERHEAD) {
                throw new UnavailableException("its library is of another version");
            }
            function("ggml_cpu_init", FunctionDescriptor.ofVoid()).invokeExact();
            functions = new Functions(
                    function("ggml_init", FunctionDescriptor.of(address, initParameters)),
                    function("ggml_new_tensor_2d", FunctionDescriptor.of(address, address, integer, size, size)),
                    function("ggml_mul_mat", FunctionDescriptor.of(address, address, address, address)),
                    function(
                            "ggml_new_graph_custom",
                            FunctionDescriptor.of(address, address, size, ValueLayout.JAVA_BOOLEAN)),
                    function("ggml_build_forward_expand", FunctionDescriptor.ofVoid(address, address)),
                    function("ggml_graph_compute", FunctionDescriptor.of(integer, address, address)),
                    function("ggml_free", FunctionDescriptor.ofVoid(address)),
                    function("ggml_threadpool_params_init", FunctionDescriptor.ofVoid(address, integer)),
                    function("ggml_threadpool_new", FunctionDescriptor.of(address, address)),
                    function("ggml_threadpool_free", FunctionDescriptor.ofVoid(address)));
            for (TensorType type : TensorType.values()) {
                if (type.quantised()) {
                    kernels.put(type, kernel(type));
                }
            }
        } catch (UnavailableException e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("ggml cannot be called", e);
        }
    }

    Functions functions() {
        return functions;
    }

    /** @throws IllegalArgumentException if the type is not quantised */
    Kernel kernel(TensorType type, String purpose) {
        Kernel kernel = kernels.get(type);
        if (kernel == null) {
            throw new IllegalArgumentException(purpose + ": " + type + " is not quantised");
        }
        return kernel;
    }

    private MethodHandle function(String name, FunctionDescriptor descriptor) throws UnavailableException {
        return downcall(
                symbols.find(name).orElseThrow(() -> new UnavailableException("its library lacks " + name)),
                descriptor);
    }

    @SuppressWarnings("restricted")
    private MethodHandle downcall(MemorySegment function, FunctionDescriptor descriptor) {
        return linker.downcallHandle(function, descriptor);
    }

    @SuppressWarnings("restricted")
    private Kernel kernel(TensorType type) throws Throwable {
        MethodHandle typeSize =
                function("ggml_type_size", FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));
        MethodHandle blockSize =
                function("ggml_blck_size", FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));
        MethodHandle traitsOf =
                function("ggml_get_type_traits_cpu", FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
        // struct ggml_type_traits_cpu { from_float; vec_dot; enum ggml_type vec_dot_type; int64_t nrows; }
        MemorySegment traits = ((MemorySegment) traitsOf.invokeExact(type.id())).reinterpret(32);
        int inputId = traits.get(ValueLayout.JAVA_INT, 16);
        MemorySegment inputTraits = ((MemorySegment) traitsOf.invokeExact(inputId)).reinterpret(32);
        Kernel kernel = new Kernel(
                type.id(),
                Math.toIntExact((long) typeSize.invokeExact(type.id())),
                inputId,
                Math.toIntExact((long) blockSize.invokeExact(inputId)),
                Math.toIntExact((long) typeSize.invokeExact(inputId)),
                downcall(inputTraits.get(ValueLayout.ADDRESS, 0), QUANTISE));
        if (kernel.blockBytes != type.blockBytes()
                || (long) blockSize.invokeExact(type.id()) != type.blockElements()
                || type.blockElements() % kernel.inputBlock != 0) {
            throw new UnavailableException("its library stores " + type + " in another way");
        }
        return kernel;
    }

    /** Multiplies small random matrices of every type and compares with their dequantised weights. */
    private void test() throws UnavailableException {
        int rows = 40;
        int columns = 512;
        int count = 3;
        Random random = new Random(1);
        try (Arena arena = Arena.ofConfined();
                Products products = new Products(this, 1)) {
            MemorySegment input = arena.allocate(ValueLayout.JAVA_FLOAT, (long) count * columns);
            for (int i = 0; i < count * columns; i++) {
                input.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) random.nextGaussian());
            }
            MemorySegment output = arena.allocate(ValueLayout.JAVA_FLOAT, (long) count * rows);
            for (TensorType type : kernels.keySet()) {
                MemorySegment weights = randomWeights(arena, type, rows, columns, random);
                int product = products.add(new Products.Matrix(type, weights, rows, columns, null));
                products.compute(product, input.address(), count, output.address());
                double error = error(
                        new Tensor("test", type, java.util.List.of((long) rows, (long) columns), weights),
                        input,
                        output,
                        count);
                if (!(error < TOLERANCE)) {
                    throw new UnavailableException("its products with " + type + " are wrong by " + error);
                }
            }
        }
    }

    /** Random bytes, with the half-precision scales and minimums of each block made small. */
    static MemorySegment randomWeights(Arena arena, TensorType type, int rows, int columns, Random random) {
        byte[] bytes = new byte[rows * columns / type.blockElements() * type.blockBytes()];
        random.nextBytes(bytes);
        int scaleAt = type == TensorType.Q6_K ? 208 : 0;
        int scales = switch (type) {
            case Q4_1, Q5_1, Q4_K, Q5_K -> 2;
            case Q4_0, Q5_0, Q8_0, Q6_K -> 1;
            case F32, F16, BF16 -> 0;
        };
        MemorySegment weights = arena.allocate(bytes.length, 32);
        MemorySegment.copy(bytes, 0, weights, ValueLayout.JAVA_BYTE, 0, bytes.length);
        for (long block = 0; block < bytes.length; block += type.blockBytes()) {
            for (int i = 0; i < scales; i++) {
                weights.set(
                        ValueLayout.JAVA_SHORT_UNALIGNED,
                        block + scaleAt + 2 * i,
                        Float.floatToFloat16(0.01f + 0.01f * random.nextFloat()));
            }
        }
        return weights;
    }

    /** Root mean square of the differences over that of the exact products. */
    private static double error(Tensor weights, MemorySegment input, MemorySegment output, int count) {
        int rows = Math.toIntExact(weights.shape().getFirst());
        int columns = Math.toIntExact(weights.shape().getLast());
        float[] row = new float[columns];
        double power = 0;
        double error = 0;
        for (int i = 0; i < rows; i++) {
            Dequantiser.row(weights, i, row, 0);
            for (int j = 0; j < count; j++) {
                double exact = 0;
                for (int k = 0; k < columns; k++) {
                    exact += (double) row[k] * input.getAtIndex(ValueLayout.JAVA_FLOAT, (long) j * columns + k);
                }
                power += exact * exact;
                error += Math.pow(exact - output.getAtIndex(ValueLayout.JAVA_FLOAT, (long) j * rows + i), 2);
            }
        }
        return Math.sqrt(error / power);
    }

    @Override
    public String toString() {
        return "ggml for " + Arrays.toString(kernels.keySet().toArray());
    }
}
