package org.harnesslearning.trainer.distributed;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Tensors for the ranks' own messages. */
final class Tensors {
    private Tensors() {}

    /** A vector where the backend can read it. */
    static Tensor of(long[] values, ProcessGroupBackend backend, RankEnvironment place) {
        Tensor tensor = Tensor.create(values);
        if (backend == ProcessGroupBackend.GLOO) {
            return tensor;
        }
        return tensor.to(new Device(torch.DeviceType.CUDA, (byte) place.localRank()), torch.ScalarType.Long);
    }

    static long[] values(Tensor tensor) {
        Tensor host = tensor.cpu().contiguous();
        long[] values = new long[Math.toIntExact(host.numel())];
        host.<java.nio.LongBuffer>createBuffer().get(values);
        return values;
    }

    /** Rank 0 sends files to all; they call {@link #receiveBytes} with the same sizes. */
    static void sendBytes(ProcessGroup group, List<byte[]> files) {
        for (byte[] file : files) {
            group.broadcast(file, 0);
        }
    }

    static List<byte[]> receiveBytes(ProcessGroup group, List<Long> sizes) {
        List<byte[]> files = new ArrayList<>();
        for (long size : sizes) {
            files.add(group.broadcast(new byte[Math.toIntExact(size)], 0));
        }
        return files;
    }

    /** Bytes as a tensor of whole numbers, eight in each. */
    static long[] pack(byte[] bytes) {
        long[] packed = new long[(bytes.length + Long.BYTES - 1) / Long.BYTES];
        java.nio.ByteBuffer buffer = java.nio.ByteBuffer.allocate(packed.length * Long.BYTES);
        buffer.put(bytes).rewind();
        buffer.asLongBuffer().get(packed);
        return packed;
    }

    static byte[] unpack(long[] packed, int length) {
        java.nio.ByteBuffer buffer = java.nio.ByteBuffer.allocate(packed.length * Long.BYTES);
        buffer.asLongBuffer().put(packed);
        byte[] bytes = new byte[length];
        buffer.get(bytes);
        return bytes;
    }
}
