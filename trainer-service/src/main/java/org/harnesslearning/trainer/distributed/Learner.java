package org.harnesslearning.trainer.distributed;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.decoder.Sequence;

/**
 * The model in training, with its optimiser, on all ranks alike. Only rank 0 holds one; each call runs on every rank,
 * with a share of the batch where there is one. Not thread-safe.
 *
 * <p>Every call throws {@link DistributedException} when a rank is lost or late. The learner is then of no more use, and
 * the training goes on from its last checkpoint with a new one.
 */
public interface Learner extends AutoCloseable {
    /** Natural logarithms of each completion token's probability at a temperature, without dropout. */
    List<float[]> logprobs(List<Sequence> batch, double temperature);

    /** The same of the base model, without adapter. */
    List<float[]> referenceLogprobs(List<Sequence> batch, double temperature);

    /** Adds the gradients of a batch to those of earlier calls since the last step. */
    Accumulated accumulate(List<Sequence> batch, double temperature, SharedObjective objective);

    /** Sums the gradients over the ranks, clips them, changes the adapter, and begins new gradients at zero. */
    Step step(double learningRate);

    /** The adapter as it is now. */
    LoraFiles adapter();

    /** Takes another adapter of the same shape; the optimiser begins anew. */
    void load(LoraFiles files);

    /** Writes adapter, optimiser and counters into a folder. */
    void save(Path folder) throws IOException;

    /** Takes what {@link #save} wrote; the next step is the one that would have followed. */
    void restore(Path folder) throws IOException;

    /** Hash of the base model's weights. */
    String baseHash();

    @Override
    void close();
}
