package org.harnesslearning.trainer.decoder;

import java.util.List;
import java.util.function.Function;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A piece of the computation that PyTorch's automatic differentiation goes back through.
 *
 * <p>The layers call the matrix products, and their gradients, themselves: nothing of the frozen base is recorded.
 */
final class Segment {

    private final List<Tensor> inputs;
    private final List<Tensor> outputs;

    private Segment(List<Tensor> inputs, List<Tensor> outputs) {
        this.inputs = inputs;
        this.outputs = outputs;
    }

    /** Computes and, where {@code keeper} is given, records what the backward pass needs and keeps it there. */
    static Segment of(List<Tensor> inputs, @Nullable Keeper keeper, Function<List<Tensor>, List<Tensor>> function) {
        if (keeper == null) {
            return new Segment(inputs, function.apply(inputs));
        }
        List<Tensor> leaves = inputs.stream()
                .map(input -> {
                    Tensor leaf = input.detach();
                    leaf.set_requires_grad(true);
                    return keeper.keep(leaf);
                })
                .toList();
        try (AutoGradMode _ = new AutoGradMode(true)) {
            List<Tensor> outputs = function.apply(leaves);
            outputs.forEach(keeper::keep);
            return new Segment(leaves, outputs);
        }
    }

    List<Tensor> outputs() {
        return outputs;
    }

    /** The only output, outside the record. */
    Tensor output() {
        return outputs.getFirst().detach();
    }

    /** Gradients of the inputs from those of the outputs, each of which must depend on some input. */
    List<Tensor> backward(List<Tensor> gradients) {
        TensorVector result = torch.grad(vector(outputs), vector(inputs), vector(gradients), null, false, false);
        return List.of(result.get());
    }

    Tensor backward(Tensor gradient) {
        return backward(List.of(gradient)).getFirst();
    }

    private static TensorVector vector(List<Tensor> tensors) {
        return new TensorVector(tensors.toArray(Tensor[]::new));
    }
}
