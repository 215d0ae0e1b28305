package org.harnesslearning.llm.engine;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.bytedeco.javacpp.SizeTPointer;
import org.bytedeco.onnxruntime.CustomOpDomain;
import org.bytedeco.onnxruntime.OrtApi;
import org.bytedeco.onnxruntime.OrtCustomOp;
import org.bytedeco.onnxruntime.OrtKernelContext;
import org.bytedeco.onnxruntime.OrtStatus;
import org.bytedeco.onnxruntime.OrtTensorTypeAndShapeInfo;
import org.bytedeco.onnxruntime.OrtValue;
import org.bytedeco.onnxruntime.SessionOptions;
import org.bytedeco.onnxruntime.global.onnxruntime;
import org.harnesslearning.llm.graph.ElementType;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Operators written in Java, in the layout of ONNX Runtime's {@code OrtCustomOp} (onnxruntime_c_api.h).
 *
 * <p>ONNX Runtime calls them on the thread that runs the session; for a captured step only while it is captured. Must
 * outlive the sessions.
 */
final class CustomOperators implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(CustomOperators.class);
    private static final int FAIL = 1; // ORT_FAIL
    private static final int REQUIRED = 0;
    private static final int OPTIONAL = 1;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final MemoryLayout ADDRESS = ValueLayout.ADDRESS;

    /**
     * An operator.
     *
     * @param name its type in graphs
     * @param inputs element types
     * @param optional inputs that may be left out
     * @param outputs element types
     * @param kernel computes it
     */
    record Operator(
            String name, List<ElementType> inputs, Set<Integer> optional, List<ElementType> outputs, Kernel kernel) {

        Operator {
            inputs = List.copyOf(inputs);
            optional = Set.copyOf(optional);
            outputs = List.copyOf(outputs);
        }
    }

    /** Computes an operator, or starts that on the call's stream. */
    @FunctionalInterface
    interface Kernel {
        void compute(Call call);
    }

    private final Arena arena = Arena.ofShared();
    private final CustomOpDomain domain;
    private final List<OrtCustomOp> structures = new ArrayList<>();

    /**
     * @param name domain of the operators
     * @param provider ONNX Runtime's name of the execution provider that they belong to
     */
    CustomOperators(String name, String provider, List<Operator> operators) {
        this.domain = new CustomOpDomain(name);
        MemorySegment providerName = arena.allocateFrom(provider);
        for (Operator operator : operators) {
            OrtCustomOp structure = new OrtCustomOp();
            new Callbacks(operator, providerName).writeTo(HostMemory.segment(structure.address(), structure.sizeof()));
            structures.add(structure);
            domain.Add(structure);
        }
    }

    void addTo(SessionOptions options) {
        options.Add(domain.asOrtCustomOpDomain());
    }

    @Override
    public void close() {
        domain.close();
        structures.forEach(Pointer::close);
        arena.close();
    }

    /** The C functions of one operator. */
    @SuppressWarnings({"UnusedMethod", "UnusedVariable"}) // called by native code, by signatures that it prescribes
    private final class Callbacks {

        private final Operator operator;
        private final MemorySegment name;
        private final MemorySegment provider;

        Callbacks(Operator operator, MemorySegment provider) {
            this.operator = operator;
            this.name = arena.allocateFrom(operator.name());
            this.provider = provider;
        }

        /** Fields in the order of the header; those left null are optional. */
        void writeTo(MemorySegment structure) {
            structure.fill((byte) 0);
            structure.set(INT, 0, onnxruntime.ORT_API_VERSION);
            MemorySegment[] functions = new MemorySegment[25];
            functions[1] = stub("name", ADDRESS, ADDRESS);
            functions[2] = stub("provider", ADDRESS, ADDRESS);
            functions[3] = stub("inputType", INT, ADDRESS, LONG);
            functions[4] = stub("inputCount", LONG, ADDRESS);
            functions[5] = stub("outputType", INT, ADDRESS, LONG);
            functions[6] = stub("outputCount", LONG, ADDRESS);
            functions[8] = stub("destroy", FunctionDescriptor.ofVoid(ADDRESS));
            functions[9] = stub("inputCharacteristic", INT, ADDRESS, LONG);
            functions[10] = stub("outputCharacteristic", INT, ADDRESS, LONG);
            functions[11] = stub("inputMemory", INT, ADDRESS, LONG);
            functions[16] = stub("create", ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS);
            functions[17] = stub("compute", ADDRESS, ADDRESS, ADDRESS);
            functions[19] = stub("version", INT, ADDRESS);
            functions[20] = stub("lastVersion", INT, ADDRESS);
            for (int i = 0; i < functions.length; i++) {
                if (functions[i] != null) {
                    structure.set(LONG, 8 + 8L * i, functions[i].address());
                }
            }
        }

        private MemorySegment stub(String method, MemoryLayout result, MemoryLayout... arguments) {
            return stub(method, FunctionDescriptor.of(result, arguments));
        }

        @SuppressWarnings("restricted")
        private MemorySegment stub(String method, FunctionDescriptor descriptor) {
            try {
                MethodHandle handle = MethodHandles.lookup().bind(this, method, descriptor.toMethodType());
                return Linker.nativeLinker().upcallStub(handle, descriptor, arena);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }

        MemorySegment name(MemorySegment self) {
            return name;
        }

        MemorySegment provider(MemorySegment self) {
            return provider;
        }

        int inputType(MemorySegment self, long index) {
            return operator.inputs().get((int) index).id();
        }

        long inputCount(MemorySegment self) {
            return operator.inputs().size();
        }

        int outputType(MemorySegment self, long index) {
            return operator.outputs().get((int) index).id();
        }

        long outputCount(MemorySegment self) {
            return operator.outputs().size();
        }

        void destroy(MemorySegment kernel) {
            // kernels have no state of their own
        }

        int inputCharacteristic(MemorySegment self, long index) {
            return operator.optional().contains((int) index) ? OPTIONAL : REQUIRED;
        }

        int outputCharacteristic(MemorySegment self, long index) {
            return REQUIRED;
        }

        int inputMemory(MemorySegment self, long index) {
            return onnxruntime.OrtMemTypeDefault;
        }

        int version(MemorySegment self) {
            return 1;
        }

        int lastVersion(MemorySegment self) {
            return Integer.MAX_VALUE;
        }

        @SuppressWarnings("restricted")
        MemorySegment create(MemorySegment self, MemorySegment api, MemorySegment info, MemorySegment kernel) {
            kernel.reinterpret(8).set(ValueLayout.ADDRESS, 0, name); // any address that is not null
            return MemorySegment.NULL;
        }

        /** Nothing may be thrown into native code: what goes wrong is returned as a status. */
        MemorySegment compute(MemorySegment kernel, MemorySegment context) {
            try (Pointer address = new DeviceMemory.Address(context.address())) {
                operator.kernel().compute(new Call(new OrtKernelContext(address)));
                return MemorySegment.NULL;
            } catch (Throwable e) {
                LOG.error("operator {} failed", operator.name(), e);
                try (BytePointer message = new BytePointer(operator.name() + " failed: " + e)) {
                    OrtStatus status = onnxruntime.GetApi().CreateStatus().call(FAIL, message);
                    return MemorySegment.ofAddress(status.address());
                }
            }
        }
    }

    /**
     * One call of an operator.
     *
     * <p>By the C interface: the C++ one's views of inputs and outputs, as JavaCPP maps them, free what they view.
     */
    static final class Call {

        private final OrtApi api = onnxruntime.GetApi();
        private final OrtKernelContext context;

        private Call(OrtKernelContext context) {
            this.context = context;
        }

        /** Device memory of an input; {@link MemorySegment#NULL} for one that is left out. */
        MemorySegment input(int index) {
            OrtValue value = value(index);
            return value.isNull() ? MemorySegment.NULL : memory(value);
        }

        /** Dimensions of an input. */
        long[] shape(int index) {
            OrtTensorTypeAndShapeInfo info = new OrtTensorTypeAndShapeInfo();
            check(api.GetTensorTypeAndShape(value(index), info));
            try (SizeTPointer count = new SizeTPointer(1)) {
                check(api.GetDimensionsCount(info, count));
                long[] dimensions = new long[(int) count.get()];
                check(api.GetDimensions(info, dimensions, dimensions.length));
                return dimensions;
            } finally {
                api.ReleaseTensorTypeAndShapeInfo(info);
            }
        }

        /** Device memory of an output with these dimensions. */
        MemorySegment output(int index, long... shape) {
            OrtValue value = new OrtValue();
            check(api.KernelContext_GetOutput(context, index, shape, shape.length, value));
            return memory(value);
        }

        /** The GPU's stream. */
        MemorySegment stream() {
            try (PointerPointer<Pointer> stream = new PointerPointer<>(1)) {
                check(api.KernelContext_GetGPUComputeStream(context, stream));
                return MemorySegment.ofAddress(address(stream));
            }
        }

        private OrtValue value(int index) {
            OrtValue value = new OrtValue();
            check(api.KernelContext_GetInput(context, index, value));
            return value;
        }

        private MemorySegment memory(OrtValue value) {
            try (PointerPointer<Pointer> data = new PointerPointer<>(1)) {
                check(api.GetTensorMutableData(value, data));
                return MemorySegment.ofAddress(address(data));
            }
        }

        private static long address(PointerPointer<Pointer> pointer) {
            Pointer value = pointer.get(0);
            return value == null ? 0 : value.address();
        }

        private static void check(@Nullable OrtStatus status) {
            if (status != null && !status.isNull()) {
                throw new IllegalStateException("ONNX Runtime refused what an operator asked of it");
            }
        }
    }
}
