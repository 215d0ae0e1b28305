package org.harnesslearning.llm.ggml;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A ggml graph of one {@code mul_mat}, whose three tensors are pointed at other data before each use. It computes on the
 * thread that calls it; different threads need graphs of their own.
 */
final class MultiplyGraph implements AutoCloseable {

    private static final long GRAPH_NODES = 16;
    private static final long CONTEXT_BYTES = 64 << 10;

    /** More than {@code sizeof(struct ggml_threadpool_params)}, which has one byte for each of 512 processors. */
    private static final long POOL_PARAMETER_BYTES = 1024;

    // struct ggml_tensor
    private static final long TYPE = 0;
    private static final long DIMENSIONS = 16;
    private static final long STRIDES = 48;
    private static final long DATA = 248;

    // struct ggml_cplan { work_size; work_data; int n_threads; threadpool; abort_callback; abort_callback_data; }
    private static final long PLAN_BYTES = 48;
    private static final long PLAN_THREADS = 16;
    private static final long PLAN_POOL = 24;

    private final Ggml.Functions functions;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment context;
    private final MemorySegment pool;
    private final MemorySegment weights;
    private final MemorySegment input;
    private final MemorySegment output;
    private final MemorySegment graph;
    private final MemorySegment plan;

    MultiplyGraph(Ggml ggml) {
        this.functions = ggml.functions();
        try {
            MemorySegment parameters = arena.allocate(24, 8); // mem_size, mem_buffer = NULL, no_alloc
            parameters.set(ValueLayout.JAVA_LONG, 0, CONTEXT_BYTES);
            parameters.set(ValueLayout.JAVA_BYTE, 16, (byte) 1);
            context = (MemorySegment) functions.init().invokeExact(parameters);
            MemorySegment a = (MemorySegment) functions.newTensor().invokeExact(context, 0, 1L, 1L);
            MemorySegment b = (MemorySegment) functions.newTensor().invokeExact(context, 0, 1L, 1L);
            MemorySegment c = (MemorySegment) functions.multiply().invokeExact(context, a, b);
            weights = tensor(a);
            input = tensor(b);
            output = tensor(c);
            graph = (MemorySegment) functions.newGraph().invokeExact(context, GRAPH_NODES, false);
            functions.expand().invokeExact(graph, c);
            MemorySegment poolParameters = arena.allocate(POOL_PARAMETER_BYTES, 8);
            functions.initPool().invokeExact(poolParameters, 1);
            pool = (MemorySegment) functions.newPool().invokeExact(poolParameters);
            plan = arena.allocate(PLAN_BYTES, 8);
            plan.set(ValueLayout.JAVA_INT, PLAN_THREADS, 1);
            plan.set(ValueLayout.ADDRESS, PLAN_POOL, pool);
        } catch (Throwable e) {
            throw new IllegalStateException("ggml cannot be called", e);
        }
    }

    @SuppressWarnings("restricted")
    private static MemorySegment tensor(MemorySegment pointer) {
        return pointer.reinterpret(Ggml.TENSOR_BYTES);
    }

    /**
     * {@code output[j * stride + i] = row i of the weights · row j of the inputs}.
     *
     * @param kernel the weights' type
     * @param weightsAt address of {@code rows} rows, one after another
     * @param inputAt address of {@code count} rounded rows, one after another
     * @param outputAt address of the first float
     * @param outputStride floats from one input's results to the next one's
     */
    void multiply(
            Ggml.Kernel kernel,
            int blockElements,
            long weightsAt,
            long rows,
            long columns,
            long inputAt,
            long count,
            long outputAt,
            long outputStride) {
        set(weights, kernel.id(), columns, rows, kernel.blockBytes(), columns / blockElements * kernel.blockBytes());
        set(input, kernel.inputId(), columns, count, kernel.inputBlockBytes(), kernel.inputRowBytes(columns));
        set(output, 0, rows, count, Float.BYTES, outputStride * Float.BYTES);
        weights.set(ValueLayout.JAVA_LONG, DATA, weightsAt);
        input.set(ValueLayout.JAVA_LONG, DATA, inputAt);
        output.set(ValueLayout.JAVA_LONG, DATA, outputAt);
        int status;
        try {
            status = (int) functions.compute().invokeExact(graph, plan);
        } catch (Throwable e) {
            throw new IllegalStateException("ggml cannot be called", e);
        }
        if (status != 0) {
            throw new IllegalStateException("ggml ends with status " + status);
        }
    }

    private static void set(MemorySegment tensor, int type, long width, long height, long stride, long rowStride) {
        tensor.set(ValueLayout.JAVA_INT, TYPE, type);
        tensor.set(ValueLayout.JAVA_LONG, DIMENSIONS, width);
        tensor.set(ValueLayout.JAVA_LONG, DIMENSIONS + 8, height);
        tensor.set(ValueLayout.JAVA_LONG, STRIDES, stride);
        tensor.set(ValueLayout.JAVA_LONG, STRIDES + 8, rowStride);
        tensor.set(ValueLayout.JAVA_LONG, STRIDES + 16, rowStride * height);
        tensor.set(ValueLayout.JAVA_LONG, STRIDES + 24, rowStride * height);
    }

    @Override
    public void close() {
        try {
            functions.freePool().invokeExact(pool);
            functions.free().invokeExact(context);
        } catch (Throwable e) {
            throw new IllegalStateException("ggml cannot be called", e);
        }
        arena.close();
    }
}
