package org.harnesslearning.llm.product;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.SizeTPointer;
import org.bytedeco.onnxruntime.CustomOpDomain;
import org.bytedeco.onnxruntime.OrtApi;
import org.bytedeco.onnxruntime.OrtCustomOp;
import org.bytedeco.onnxruntime.OrtKernelContext;
import org.bytedeco.onnxruntime.OrtKernelInfo;
import org.bytedeco.onnxruntime.OrtStatus;
import org.bytedeco.onnxruntime.OrtTensorTypeAndShapeInfo;
import org.bytedeco.onnxruntime.OrtValue;
import org.bytedeco.onnxruntime.SessionOptions;
import org.bytedeco.onnxruntime.global.onnxruntime;

/**
 * The operator {@value #DOMAIN}.{@value #NAME} of ONNX Runtime: input float (…, columns), outputs float (…, rows), one
 * for each matrix of the product whose number is the attribute {@value #PRODUCT}; at most {@value #MOST_OUTPUTS}.
 *
 * <p>ONNX Runtime calls it on the thread that runs the session. It must be closed after the session.
 */
public final class ProductOperator implements AutoCloseable {

    public static final String DOMAIN = "org.harnesslearning";
    public static final String NAME = "QuantisedMatMul";
    public static final String PRODUCT = "product";
    public static final int MOST_OUTPUTS = 3;

    private static final int MOST_DIMENSIONS = 8;
    private static final int FLOAT = 1; // ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT
    private static final int FAIL = 1; // ORT_FAIL
    private static final int REQUIRED = 0; // INPUT_OUTPUT_REQUIRED
    private static final int OPTIONAL = 1; // INPUT_OUTPUT_OPTIONAL
    private static final int DEFAULT_MEMORY = 0; // OrtMemTypeDefault

    private final MatrixProducts products;
    private final Arena arena = Arena.ofShared();
    private final OrtApi api = onnxruntime.OrtGetApiBase().GetApi().call(onnxruntime.ORT_API_VERSION);
    private final OrtValue value = new OrtValue((Pointer) null);
    private final OrtTensorTypeAndShapeInfo info = new OrtTensorTypeAndShapeInfo((Pointer) null);
    private final Pointer data = new Pointer();
    private final SizeTPointer rank = new SizeTPointer(1);
    private final LongPointer shape = new LongPointer(MOST_DIMENSIONS);
    private final MemorySegment name = arena.allocateFrom(NAME);
    private final MemorySegment provider = arena.allocateFrom("CPUExecutionProvider");
    private final OrtCustomOp operator;
    private final CustomOpDomain domain = new CustomOpDomain(DOMAIN);

    /** @param products computed by the operator; all that the graph names are added before the session is made */
    public ProductOperator(MatrixProducts products) {
        this.products = products;
        this.operator = operator();
        domain.Add(operator);
    }

    /** Makes the operator known to the session that is made with these options. */
    public void register(SessionOptions options) {
        options.Add(domain.asOrtCustomOpDomain());
    }

    private OrtCustomOp operator() {
        MemorySegment struct = arena.allocate(Loader.sizeof(OrtCustomOp.class), 8);
        struct.set(ValueLayout.JAVA_INT, Loader.offsetof(OrtCustomOp.class, "version"), onnxruntime.ORT_API_VERSION);
        Class<?> pointer = MemorySegment.class;
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            MethodHandle create = lookup.bind(this, "createKernel", MethodType.methodType(pointer, pointer, pointer));
            member(struct, "CreateKernelV2", MethodHandles.dropArguments(create, 0, pointer, pointer));
            member(
                    struct,
                    "KernelComputeV2",
                    lookup.bind(this, "compute", MethodType.methodType(pointer, pointer, pointer)));
            MethodHandle characteristic = lookup.findStatic(
                    ProductOperator.class, "outputCharacteristic", MethodType.methodType(int.class, long.class));
            member(struct, "GetOutputCharacteristic", MethodHandles.dropArguments(characteristic, 0, pointer));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("a method of this class is missing", e);
        }
        member(struct, "KernelDestroy", MethodHandles.empty(MethodType.methodType(void.class, pointer)));
        constant(struct, "GetName", pointer, name);
        constant(struct, "GetExecutionProviderType", pointer, provider);
        constant(struct, "GetInputTypeCount", long.class, 1L);
        constant(struct, "GetOutputTypeCount", long.class, (long) MOST_OUTPUTS);
        constant(struct, "GetInputType", int.class, FLOAT, long.class);
        constant(struct, "GetOutputType", int.class, FLOAT, long.class);
        constant(struct, "GetInputCharacteristic", int.class, REQUIRED, long.class);
        constant(struct, "GetInputMemoryType", int.class, DEFAULT_MEMORY, long.class);
        constant(struct, "GetVariadicInputMinArity", int.class, 0);
        constant(struct, "GetVariadicInputHomogeneity", int.class, 0);
        constant(struct, "GetVariadicOutputMinArity", int.class, 0);
        constant(struct, "GetVariadicOutputHomogeneity", int.class, 0);
        constant(struct, "GetStartVersion", int.class, 1);
        constant(struct, "GetEndVersion", int.class, Integer.MAX_VALUE);
        return new OrtCustomOp(new Address(struct));
    }

    /** A member function that ignores the operator's pointer and its other parameters. */
    private void constant(MemorySegment struct, String member, Class<?> type, Object result, Class<?>... parameters) {
        MethodHandle handle = MethodHandles.dropArguments(MethodHandles.constant(type, result), 0, parameters);
        member(struct, member, MethodHandles.dropArguments(handle, 0, MemorySegment.class));
    }

    @SuppressWarnings("restricted")
    private void member(MemorySegment struct, String member, MethodHandle handle) {
        MethodType type = handle.type();
        MemoryLayout[] parameters =
                type.parameterList().stream().map(ProductOperator::layout).toArray(MemoryLayout[]::new);
        FunctionDescriptor descriptor = type.returnType() == void.class
                ? FunctionDescriptor.ofVoid(parameters)
                : FunctionDescriptor.of(layout(type.returnType()), parameters);
        struct.set(
                ValueLayout.ADDRESS,
                Loader.offsetof(OrtCustomOp.class, member),
                Linker.nativeLinker().upcallStub(handle, descriptor, arena));
    }

    private static MemoryLayout layout(Class<?> type) {
        if (type == MemorySegment.class) {
            return ValueLayout.ADDRESS;
        }
        return type == long.class ? ValueLayout.JAVA_LONG : ValueLayout.JAVA_INT;
    }

    // The rest is called by ONNX Runtime. Nothing may be thrown into it.

    /** The kernel is no memory: its address is the product's number + 1. */
    @SuppressWarnings({"restricted", "UnusedMethod"})
    private MemorySegment createKernel(MemorySegment kernelInfo, MemorySegment kernel) {
        try {
            long[] product = new long[1];
            OrtStatus status =
                    api.KernelInfoGetAttribute_int64(new OrtKernelInfo(new Address(kernelInfo)), PRODUCT, product);
            if (failed(status)) {
                return MemorySegment.ofAddress(status.address());
            }
            products.columns(Math.toIntExact(product[0]));
            kernel.reinterpret(ValueLayout.ADDRESS.byteSize())
                    .set(ValueLayout.ADDRESS, 0, MemorySegment.ofAddress(product[0] + 1));
            return MemorySegment.NULL;
        } catch (Throwable e) {
            return failure(e);
        }
    }

    @SuppressWarnings("UnusedMethod")
    private MemorySegment compute(MemorySegment kernel, MemorySegment context) {
        try {
            int product = (int) kernel.address() - 1;
            OrtKernelContext run = new OrtKernelContext(new Address(context));
            check(api.KernelContext_GetInput(run, 0, value));
            check(api.GetTensorMutableData(value, data));
            long input = data.address();
            int dimensions = readShape();
            long count = 1;
            for (int i = 0; i < dimensions - 1; i++) {
                count *= shape.get(i);
            }
            if (dimensions == 0 || shape.get(dimensions - 1) != products.columns(product)) {
                throw new IllegalArgumentException("the input does not have " + products.columns(product) + " columns");
            }
            long[] outputs = new long[products.outputs(product)];
            for (int i = 0; i < outputs.length; i++) {
                shape.put(dimensions - 1, products.rows(product, i));
                check(api.KernelContext_GetOutput(run, i, shape, dimensions, value));
                check(api.GetTensorMutableData(value, data));
                outputs[i] = data.address();
            }
            products.compute(product, input, Math.toIntExact(count), outputs);
            return MemorySegment.NULL;
        } catch (Throwable e) {
            return failure(e);
        }
    }

    /** Reads the shape of {@link #value} and returns its length. */
    private int readShape() {
        check(api.GetTensorTypeAndShape(value, info));
        try {
            check(api.GetDimensionsCount(info, rank));
            long dimensions = rank.get();
            if (dimensions > MOST_DIMENSIONS) {
                throw new IllegalArgumentException(dimensions + " dimensions");
            }
            check(api.GetDimensions(info, shape, dimensions));
            return (int) dimensions;
        } finally {
            api.ReleaseTensorTypeAndShapeInfo(info);
        }
    }

    private static boolean failed(OrtStatus status) {
        return status != null && !status.isNull();
    }

    private static void check(OrtStatus status) {
        if (failed(status)) {
            throw new IllegalStateException("ONNX Runtime refuses the operator's call");
        }
    }

    private MemorySegment failure(Throwable e) {
        try (BytePointer message = new BytePointer(NAME + ": " + e)) {
            return MemorySegment.ofAddress(
                    api.CreateStatus().call(FAIL, message).address());
        }
    }

    @SuppressWarnings("UnusedMethod")
    private static int outputCharacteristic(long index) {
        return index == 0 ? REQUIRED : OPTIONAL;
    }

    @Override
    public void close() {
        domain.close();
        rank.close();
        shape.close();
        products.close();
        arena.close();
    }

    /** A native address as JavaCPP wants it. */
    private static final class Address extends Pointer {

        Address(MemorySegment segment) {
            address = segment.address();
        }
    }
}
