package org.harnesslearning.trainer.decoder;

import java.lang.foreign.MemorySegment;
import java.util.List;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.openblas.global.openblas;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** PyTorch's native library: loading, and the few calls whose Java form is clumsy. */
final class Torch {

    private static final String EXTENSION = "org.bytedeco.javacpp.platform.extension";
    private static final String FOR_GPUS = "/org/bytedeco/pytorch/linux-x86_64-gpu/libjnitorch.so";
    private static final String CUDA_CLASS = "org.bytedeco.pytorch.global.torch_cuda";

    static {
        // JavaCPP would refuse allocations once the process is larger than a multiple of the Java heap.
        for (String property : List.of("org.bytedeco.javacpp.maxPhysicalBytes", "org.bytedeco.javacpp.maxBytes")) {
            if (System.getProperty(property) == null) {
                System.setProperty(property, "0");
            }
        }
        // The libraries for GPUs serve processors too.
        if (System.getProperty(EXTENSION) == null && Torch.class.getResource(FOR_GPUS) != null) {
            System.setProperty(EXTENSION, "-gpu");
        }
        Loader.load(torch.class);
    }

    private Torch() {}

    /**
     * Makes ready for the device.
     *
     * @throws IllegalStateException if it is a GPU that cannot be used
     */
    @SuppressWarnings("try") // the scope frees what is made inside
    static org.bytedeco.pytorch.Device open(DecoderSettings settings) {
        torch.set_num_threads(settings.effectiveThreads());
        // Matrix products are OpenBLAS's, which has threads of its own.
        try (PointerScope scope = new PointerScope()) {
            openblas.blas_set_num_threads(settings.effectiveThreads());
        }
        return switch (settings.device()) {
            case Device.Cpu _ -> new org.bytedeco.pytorch.Device("cpu");
            case Device.Cuda cuda -> {
                loadCuda();
                if (cuda.id() >= torch.cuda_device_count()) {
                    throw new IllegalStateException("there is no GPU " + cuda.id() + ": PyTorch finds "
                            + torch.cuda_device_count() + " (is its driver there, and CUDA 13 in LD_LIBRARY_PATH?)");
                }
                yield new org.bytedeco.pytorch.Device("cuda:" + cuda.id());
            }
        };
    }

    private static void loadCuda() {
        try {
            // Without it PyTorch knows no CUDA. Its class is there only with the profile "gpu".
            Loader.load(Class.forName(CUDA_CLASS));
        } catch (ClassNotFoundException | LinkageError e) {
            throw new IllegalStateException(
                    "PyTorch's libraries for GPUs cannot be loaded: they come with the Maven profile \"gpu\", and need"
                            + " CUDA 13 and cuDNN 9 in LD_LIBRARY_PATH",
                    e);
        }
    }

    static TensorOptions options(ScalarType type, org.bytedeco.pytorch.Device device) {
        return new TensorOptions().dtype(new ScalarTypeOptional(type)).device(new DeviceOptional(device));
    }

    static Tensor empty(TensorOptions options, long... shape) {
        return torch.empty(shape, options, null);
    }

    static Tensor zeros(TensorOptions options, long... shape) {
        return torch.zeros(shape, options);
    }

    /** Copies an array to the device. */
    static Tensor upload(long[] values, org.bytedeco.pytorch.Device device) {
        return Tensor.create(values).to(device, ScalarType.Long);
    }

    /** Copies an array to the device. */
    static Tensor upload(float[] values, org.bytedeco.pytorch.Device device, ScalarType type) {
        return Tensor.create(values).to(device, type);
    }

    /** Copies a tensor's values to the host, as fp32. */
    static float[] download(Tensor tensor) {
        float[] values = new float[Math.toIntExact(tensor.numel())];
        if (values.length > 0) {
            FloatPointer data =
                    tensor.detach().cpu().to(ScalarType.Float).contiguous().data_ptr_float();
            data.get(values);
        }
        return values;
    }

    /** The memory of a contiguous tensor on the host; valid as long as the tensor. */
    @SuppressWarnings("restricted")
    static MemorySegment memory(Tensor tensor) {
        return MemorySegment.ofAddress(tensor.data_ptr().address()).reinterpret(tensor.nbytes());
    }

    /** Lets an object outlive the scopes it was made in, until {@code close} is called on it. */
    static <P extends Pointer> P keep(P pointer) {
        pointer.retainReference();
        return pointer;
    }
}
