package org.harnesslearning.benchmarks;

import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.harnesslearning.trainer.decoder.DecoderSettings;
import org.harnesslearning.trainer.decoder.Device;
import org.harnesslearning.trainer.decoder.LoraSettings;
import org.harnesslearning.trainer.decoder.Precision;
import org.harnesslearning.trainer.decoder.Sequence;
import org.harnesslearning.trainer.distributed.DistributedSettings;
import org.harnesslearning.trainer.distributed.Learner;
import org.harnesslearning.trainer.distributed.LearnerSettings;
import org.harnesslearning.trainer.distributed.Learners;
import org.harnesslearning.trainer.distributed.RankEnvironment;
import org.harnesslearning.trainer.distributed.Worker;
import org.harnesslearning.trainer.optimizer.AdamW;
import org.harnesslearning.trainer.sft.LikelihoodObjective;

/**
 * Speed and losses of data-parallel training: whole steps on one batch of sequences of one length, shared by as many
 * processes as the variables of torchrun say ({@code RANK}, {@code WORLD_SIZE}, {@code MASTER_ADDR}, {@code MASTER_PORT},
 * {@code LOCAL_RANK}); without them by one.
 *
 * <p>Arguments: checkpoint, then {@code key=value} of {@code device} (cuda or cpu), {@code batch} (of all ranks together),
 * {@code micro} (sequences computed at once), {@code length}, {@code rank} (of the adapter), {@code steps},
 * {@code warmup}. {@code benchmarks/train.sh ranks} runs one process, then several, on the same batch.
 */
public final class RanksBenchmark {

    private static final PrintStream OUT = System.out;
    private static final double RATE = 1e-4;

    /** Token ids below this; every shape has more. */
    private static final int VOCABULARY = 1000;

    private RanksBenchmark() {}

    public static void main(String[] arguments) {
        if (arguments.length == 0) {
            OUT.println("usage: RanksBenchmark CHECKPOINT [key=value …]");
            return;
        }
        RankEnvironment place = RankEnvironment.of(System.getenv());
        if (!place.leads()) {
            new Worker(place, DistributedSettings.defaults()).run();
            return;
        }
        Map<String, String> options = TrainingBenchmark.options(arguments);
        boolean gpu = options.getOrDefault("device", "cuda").equals("cuda");
        int batchSize = TrainingBenchmark.integer(options, "batch", 16);
        int length = TrainingBenchmark.integer(options, "length", 1024);
        int rank = TrainingBenchmark.integer(options, "rank", 16);
        int steps = TrainingBenchmark.integer(options, "steps", 10);
        int warmup = TrainingBenchmark.integer(options, "warmup", 20);
        DecoderSettings decoder = new DecoderSettings(
                gpu ? Device.cuda(place.localRank()) : Device.cpu(),
                gpu ? Precision.BF16 : Precision.FP32,
                false,
                TrainingBenchmark.integer(options, "micro", 8) * (length + 1),
                1);
        LearnerSettings settings = new LearnerSettings(
                Path.of(arguments[0]), LoraSettings.of(rank, 2 * rank), decoder, AdamW.Settings.DEFAULTS, 1);
        try (Learners learners = Learners.of(place, DistributedSettings.defaults())) {
            try (Learner learner = learners.open(settings)) {
                measure(learner, place.size(), batchSize, length, warmup, steps);
            }
            learners.dismiss();
        }
    }

    private static void measure(Learner learner, int ranks, int batchSize, int length, int warmup, int steps) {
        List<Sequence> batch = TrainingBenchmark.batch(batchSize, length, VOCABULARY);
        double tokens = (double) batchSize * length;
        LikelihoodObjective objective = new LikelihoodObjective(tokens);
        long begin = System.nanoTime();
        for (int step = 0; step < warmup + steps; step++) {
            if (step == warmup) {
                begin = System.nanoTime();
            }
            double loss = learner.accumulate(batch, 1, objective).loss();
            double norm = learner.step(RATE).gradientNorm();
            if (step < 3 || step == warmup + steps - 1) {
                OUT.printf("%d ranks: step %d, loss %.5f, gradient norm %.5f%n", ranks, step, loss, norm);
            }
        }
        double seconds = (System.nanoTime() - begin) / 1e9 / steps;
        OUT.printf(
                "%d ranks: %.1f ms a step%nranks_%d_tokens_per_second=%.1f%n",
                ranks, 1e3 * seconds, ranks, tokens / seconds);
    }
}
