package org.harnesslearning.trainer.decoder;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.Safetensors;
import org.harnesslearning.llm.checkpoint.TensorType;

/** fp32 tensors with names, and texts, in a safetensors file. */
public final class TensorFile {

    private TensorFile() {}

    /**
     * Writes a file; a reader sees it whole or not at all.
     *
     * @param tensors fp32, on any device
     * @param texts added to the file's metadata
     */
    @SuppressWarnings("try")
    public static void write(Path file, Map<String, Tensor> tensors, Map<String, String> texts) throws IOException {
        Path part = file.resolveSibling(file.getFileName() + ".part");
        try (PointerScope scope = new PointerScope();
                FileChannel channel = FileChannel.open(
                        part,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.TRUNCATE_EXISTING,
                        StandardOpenOption.WRITE)) {
            List<org.harnesslearning.llm.checkpoint.Tensor> list = new ArrayList<>();
            for (Map.Entry<String, Tensor> entry : new TreeMap<>(tensors).entrySet()) {
                if (entry.getValue().scalar_type().intern() != ScalarType.Float) {
                    throw new IllegalArgumentException("tensor " + entry.getKey() + " is not fp32");
                }
                Tensor values = entry.getValue().detach().cpu().contiguous();
                list.add(new org.harnesslearning.llm.checkpoint.Tensor(
                        entry.getKey(), TensorType.F32, shape(values), Torch.memory(values)));
            }
            Safetensors.write(channel, texts, list);
            channel.force(true);
        }
        Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /**
     * The texts of a file.
     *
     * @throws CheckpointException if it is damaged
     */
    public static Map<String, String> texts(Path file) {
        try (Safetensors stored = Safetensors.open(file)) {
            return Map.copyOf(stored.metadata());
        }
    }

    /**
     * Reads a file into tensors that are there.
     *
     * @param tensors fp32; all of the file's, with their shapes
     * @throws CheckpointException if the file is damaged or holds other tensors; then none is changed
     */
    @SuppressWarnings("try")
    public static void read(Path file, Map<String, Tensor> tensors) {
        try (Safetensors stored = Safetensors.open(file);
                PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            if (!stored.tensors().keySet().equals(tensors.keySet())) {
                throw new CheckpointException(
                        file, "holds " + stored.tensors().keySet() + ", expected are " + tensors.keySet());
            }
            Map<String, Tensor> read = new LinkedHashMap<>();
            stored.tensors().forEach((name, from) -> {
                Tensor target = tensors.get(name);
                if (target == null
                        || from.type() != TensorType.F32
                        || !from.shape().equals(shape(target))) {
                    throw new CheckpointException(
                            file,
                            "tensor " + name + " is " + from.type() + " " + from.shape() + ", expected is F32 "
                                    + (target == null ? "" : shape(target)));
                }
                Tensor values = Torch.empty(new TensorOptions(ScalarType.Float), target.numel());
                Torch.memory(values).copyFrom(from.data());
                read.put(
                        name,
                        values.view(
                                from.shape().stream().mapToLong(Long::longValue).toArray()));
            });
            read.forEach((name, values) -> {
                Tensor target = tensors.get(name);
                if (target != null) {
                    target.copy_(values);
                }
            });
        }
    }

    private static List<Long> shape(Tensor tensor) {
        List<Long> shape = new ArrayList<>();
        for (long i = 0; i < tensor.dim(); i++) {
            shape.add(tensor.size(i));
        }
        return shape;
    }
}
