package org.harnesslearning.trainer.decoder;

import java.nio.file.Path;
import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import org.harnesslearning.llm.checkpoint.LoraAdapter;

/**
 * A low-rank adapter's form (Hu et al. 2021): the outputs of each target matrix gain {@code scale · B · A · x}.
 *
 * @param rank rows of A
 * @param alpha the scale is {@code alpha / rank}, or {@code alpha / √rank} when rank-stabilised
 * @param dropout probability that an input of A is zero in training; the others are divided by what is left
 * @param rankStabilised whether the scale falls with the root of the rank (Kalajdzievski 2023)
 * @param targetModules names of the projections with an adapter, as PEFT writes them: {@link #ALL_MODULES} or some of them
 */
public record LoraSettings(int rank, double alpha, double dropout, boolean rankStabilised, Set<String> targetModules) {

    /** All seven projections of a block. */
    public static final Set<String> ALL_MODULES = Collections.unmodifiableSet(
            new TreeSet<>(Set.of("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")));

    /** Checks and copies. */
    public LoraSettings {
        targetModules = Collections.unmodifiableSet(new TreeSet<>(targetModules));
        if (rank < 1 || rank > 1024) {
            throw new IllegalArgumentException("the rank is " + rank + ", 1 to 1024 are possible");
        }
        if (!(alpha > 0) || Double.isInfinite(alpha)) {
            throw new IllegalArgumentException("alpha is " + alpha + ", it must be positive");
        }
        if (!(dropout >= 0 && dropout < 1)) {
            throw new IllegalArgumentException("the dropout is " + dropout + ", it must be at least 0 and below 1");
        }
        if (targetModules.isEmpty() || !ALL_MODULES.containsAll(targetModules)) {
            throw new IllegalArgumentException(
                    "the target modules are " + targetModules + ", they must be some of " + ALL_MODULES);
        }
    }

    /** An adapter on all seven projections, without dropout. */
    public static LoraSettings of(int rank, double alpha) {
        return new LoraSettings(rank, alpha, 0, false, ALL_MODULES);
    }

    /**
     * The form of a stored adapter, for a decoder that trains it on.
     *
     * @throws org.harnesslearning.llm.checkpoint.CheckpointException if it has a form that cannot be trained
     */
    public static LoraSettings of(LoraFiles files) {
        return PeftFiles.settings(Path.of(LoraAdapter.CONFIG_FILE), files.config());
    }

    /** The same with this dropout. */
    public LoraSettings withDropout(double probability) {
        return new LoraSettings(rank, alpha, probability, rankStabilised, targetModules);
    }

    /** The same on these projections. */
    public LoraSettings withTargetModules(Set<String> modules) {
        return new LoraSettings(rank, alpha, dropout, rankStabilised, modules);
    }

    /** What {@code B · A · x} is multiplied by. */
    public double scale() {
        return rankStabilised ? alpha / Math.sqrt(rank) : alpha / rank;
    }
}
