package org.harnesslearning.trainer.decoder;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.harnesslearning.llm.cuda.CudaDevice;
import org.harnesslearning.llm.cuda.CudaException;
import org.harnesslearning.llm.cuda.CudaModule;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Passes over large tensors that PyTorch makes several of, as single kernels ({@code training.cu}).
 *
 * <p>They are launched in the default stream, as everything of PyTorch here. A call answers false, and does nothing, where
 * a tensor's shape or layout does not fit: then PyTorch's operators do the same.
 */
final class GpuKernels implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(GpuKernels.class);

    /** Numbers that a thread handles at once. */
    private static final int WIDTH = 8;

    private static final int ALIGNMENT = 16;
    private static final int THREADS = 256;
    private static final int SCORE_THREADS = 512;

    private final CudaDevice device;
    private final CudaModule module;

    private GpuKernels(CudaDevice device, CudaModule module) {
        this.device = device;
        this.module = module;
    }

    /** The kernels for a number type; null where the device is no GPU, has none for the type, or they do not compile. */
    static @Nullable GpuKernels of(Device device, ScalarType type) {
        if (!(device instanceof Device.Cuda cuda) || type != ScalarType.Float && type != ScalarType.BFloat16) {
            return null;
        }
        CudaDevice opened = null;
        try (InputStream source =
                Objects.requireNonNull(GpuKernels.class.getResourceAsStream("training.cu"), "training.cu")) {
            opened = CudaDevice.open(cuda.id());
            String text = new String(source.readAllBytes(), StandardCharsets.UTF_8);
            String option = "-DTYPE=" + (type == ScalarType.Float ? 0 : 2);
            return new GpuKernels(opened, CudaModule.compile(opened, text, List.of(option)));
        } catch (CudaException e) {
            LOG.warn("training goes on with PyTorch's operators alone, a sixth slower: {}", e.getMessage());
            if (opened != null) {
                opened.close();
            }
            return null;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** out (T, n) = silu(gate) ⊙ up of gateUp (T, 2 n). */
    boolean gated(Tensor gateUp, Tensor out) {
        long width = out.size(1);
        if (width % WIDTH != 0 || !plain(gateUp) || !plain(out)) {
            return false;
        }
        long eights = out.numel() / WIDTH;
        launch("gated", eights, address(gateUp), address(out), (int) width, eights);
        return true;
    }

    /** out (T, 2 n): gradients of gate and up from that of the result (T, n). */
    boolean gatedBack(Tensor gradient, Tensor gateUp, Tensor out) {
        long width = gradient.size(1);
        if (width % WIDTH != 0 || !plain(gradient) || !plain(gateUp) || !plain(out)) {
            return false;
        }
        long eights = gradient.numel() / WIDTH;
        launch("gated_back", eights, address(gradient), address(gateUp), address(out), (int) width, eights);
        return true;
    }

    /**
     * Rotary embedding of (T, heads, size), whose rows may lie apart.
     *
     * @param sign 1, or −1 for the gradient
     */
    boolean rotate(Tensor target, Tensor source, Tensor cos, Tensor sin, int sign) {
        long heads = source.size(1);
        long size = source.size(2);
        long half = size / 2;
        if (half % WIDTH != 0 || !rowsOfHeads(source) || !rowsOfHeads(target) || !plain(cos) || !plain(sin)) {
            return false;
        }
        long eights = source.size(0) * heads * half / WIDTH;
        launch(
                "rotate",
                eights,
                address(source),
                source.stride(0),
                address(target),
                target.stride(0),
                address(cos),
                address(sin),
                (int) heads,
                (int) half,
                (float) sign,
                eights);
        return true;
    }

    /**
     * Log-probabilities and entropies of rows of logits.
     *
     * @param logits (n, vocabulary); with {@code gradient} the gradient of each log-probability takes their place
     * @param targets (n)
     * @param logprobs (n) in fp32; entropies likewise
     */
    boolean scores(
            Tensor logits, Tensor targets, double temperature, Tensor logprobs, Tensor entropies, boolean gradient) {
        if (logits.size(0) == 0
                || logits.size(1) % WIDTH != 0
                || !plain(logits)
                || logprobs.scalar_type() != ScalarType.Float) {
            return false;
        }
        device.use();
        module.launch(
                MemorySegment.NULL,
                "scores",
                new int[] {(int) logits.size(0), 1, 1},
                SCORE_THREADS,
                0,
                address(logits),
                address(targets),
                (float) (1 / temperature),
                address(logprobs),
                address(entropies),
                (int) logits.size(1),
                gradient ? 1 : 0);
        return true;
    }

    private void launch(String kernel, long threads, Object... arguments) {
        if (threads == 0) {
            return;
        }
        device.use();
        int blocks = Math.toIntExact((threads + THREADS - 1) / THREADS);
        module.launch(MemorySegment.NULL, kernel, new int[] {blocks, 1, 1}, THREADS, 0, arguments);
    }

    private static MemorySegment address(Tensor tensor) {
        return MemorySegment.ofAddress(tensor.data_ptr().address());
    }

    private static boolean plain(Tensor tensor) {
        return tensor.is_contiguous() && address(tensor).address() % ALIGNMENT == 0;
    }

    private static boolean rowsOfHeads(Tensor tensor) {
        return tensor.stride(2) == 1
                && tensor.stride(1) == tensor.size(2)
                && tensor.stride(0) % WIDTH == 0
                && address(tensor).address() % ALIGNMENT == 0;
    }

    @Override
    public void close() {
        device.close();
    }
}
