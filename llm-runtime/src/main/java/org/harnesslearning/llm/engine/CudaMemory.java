package org.harnesslearning.llm.engine;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.onnxruntime.CUDAProviderOptions;
import org.bytedeco.onnxruntime.MemoryInfo;
import org.bytedeco.onnxruntime.SessionOptions;
import org.bytedeco.onnxruntime.StringStringMap;
import org.bytedeco.onnxruntime.global.onnxruntime;
import org.harnesslearning.llm.cuda.CudaDevice;
import org.harnesslearning.llm.graph.ElementType;
import org.harnesslearning.llm.graph.Weight;

/** The memory of one GPU. ONNX Runtime works on the device's own stream, so copies and steps keep their order. */
final class CudaMemory implements DeviceMemory {

    static {
        Natives.choose();
    }

    private final CudaDevice device;
    private final MemoryInfo info;
    private long allocated;

    /** Takes over the device. */
    CudaMemory(CudaDevice device) {
        this.device = device;
        this.info =
                new MemoryInfo("Cuda", onnxruntime.OrtDeviceAllocator, device.ordinal(), onnxruntime.OrtMemTypeDefault);
    }

    CudaDevice device() {
        return device;
    }

    @Override
    public void enter() {
        device.use();
    }

    @Override
    public MemorySegment allocate(long bytes) {
        MemorySegment memory = device.allocate(bytes);
        allocated += bytes;
        Allocated.add(bytes);
        return memory;
    }

    @Override
    public MemorySegment mirror(MemorySegment memory) {
        return device.hostMemory(memory.byteSize());
    }

    @Override
    public void upload(MemorySegment target, MemorySegment mirror, long bytes) {
        device.upload(target, mirror, bytes);
    }

    @Override
    public void download(MemorySegment mirror, MemorySegment source, long bytes) {
        device.download(mirror, source, bytes);
    }

    @Override
    public void copy(MemorySegment target, MemorySegment source, long width, long pitch, long count) {
        if (width > 0) {
            device.copy(target, source, width, pitch, count);
        }
    }

    @Override
    public void write(MemorySegment target, MemorySegment host) {
        if (host.byteSize() == 0) {
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment nativeHost =
                    host.isNative() ? host : arena.allocate(host.byteSize(), 16).copyFrom(host);
            device.synchronise(); // steps that still read what was there
            device.copyToDevice(target, nativeHost, host.byteSize());
        }
    }

    @Override
    public void fill(OnnxRuntime.Placed placed) {
        device.use();
        Weight weight = placed.weight();
        if (!weight.verbatim().isEmpty()) {
            MemorySegment target = placed.targets().getFirst();
            long at = 0;
            for (MemorySegment part : weight.verbatim()) {
                device.copyToDevice(target.asSlice(at), part, part.byteSize());
                at += part.byteSize();
            }
            return;
        }
        List<Pointer> blocks = weight.specs().stream()
                .map(spec -> Pointer.malloc(spec.byteSize()))
                .toList();
        try {
            List<MemorySegment> staged = new java.util.ArrayList<>();
            for (int i = 0; i < blocks.size(); i++) {
                staged.add(HostMemory.segment(
                        blocks.get(i).address(), weight.specs().get(i).byteSize()));
            }
            weight.filler().fill(staged);
            for (int i = 0; i < staged.size(); i++) {
                device.copyToDevice(
                        placed.targets().get(i), staged.get(i), staged.get(i).byteSize());
            }
        } finally {
            blocks.forEach(Pointer::free);
        }
    }

    @Override
    public MemoryInfo info() {
        return info;
    }

    @Override
    public void configure(SessionOptions options, ElementType type, boolean captured) {
        Map<String, String> settings = Map.of(
                "device_id",
                Integer.toString(device.ordinal()),
                // Every size class would be kept at twice the need otherwise.
                "arena_extend_strategy",
                "kSameAsRequested",
                "enable_cuda_graph",
                captured ? "1" : "0",
                "use_tf32",
                "0",
                // Otherwise a norm after a sum adds up squares in the type of the activations. Real models have some
                // activations above 20,000: in FP16 their squares overflow, and the token's normed values become 0.
                "enable_skip_layer_norm_strict_mode",
                type == ElementType.FLOAT16 ? "1" : "0");
        try (CUDAProviderOptions provider = new CUDAProviderOptions();
                StringStringMap map = new StringStringMap();
                Pointer stream = new DeviceMemory.Address(device.stream().address())) {
            for (Map.Entry<String, String> setting : settings.entrySet()) {
                try (BytePointer key = new BytePointer(setting.getKey());
                        BytePointer value = new BytePointer(setting.getValue())) {
                    map.put(key, value);
                }
            }
            provider.Update(map);
            provider.UpdateWithValue("user_compute_stream", stream);
            options.AppendExecutionProvider_CUDA_V2(provider.asOrtCUDAProviderOptionsV2());
        }
    }

    @Override
    public void close() {
        info.close();
        device.close();
        Allocated.add(-allocated);
        allocated = 0;
    }
}
