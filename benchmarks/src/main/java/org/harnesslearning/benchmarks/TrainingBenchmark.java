package org.harnesslearning.benchmarks;

import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Scalar;
import org.harnesslearning.trainer.decoder.DecoderSettings;
import org.harnesslearning.trainer.decoder.Device;
import org.harnesslearning.trainer.decoder.LoraSettings;
import org.harnesslearning.trainer.decoder.Objective;
import org.harnesslearning.trainer.decoder.Precision;
import org.harnesslearning.trainer.decoder.Sequence;
import org.harnesslearning.trainer.decoder.TrainableDecoder;
import org.harnesslearning.trainer.optimizer.AdamW;

/**
 * Speed of LoRA training: whole steps (forward, loss on every token, backward, clipping, AdamW) on sequences of one
 * length.
 *
 * <p>Arguments: checkpoint, then {@code key=value} of {@code device} (cuda or cpu), {@code batch}, {@code length},
 * {@code rank}, {@code steps}, {@code warmup}, {@code checkpointing} (true or false), {@code threads} (of the processor).
 * {@code benchmarks/train.sh} runs it beside its peer.
 */
public final class TrainingBenchmark {

    private static final PrintStream OUT = System.out;
    private static final double RATE = 1e-4;

    private TrainingBenchmark() {}

    public static void main(String[] arguments) {
        if (arguments.length == 0) {
            OUT.println("usage: TrainingBenchmark CHECKPOINT [key=value …]");
            return;
        }
        Map<String, String> options = options(arguments);
        boolean gpu = options.getOrDefault("device", "cuda").equals("cuda");
        int batchSize = integer(options, "batch", 8);
        int length = integer(options, "length", 1024);
        int rank = integer(options, "rank", 16);
        int steps = integer(options, "steps", 10);
        int warmup = integer(options, "warmup", 3);
        boolean checkpointing = Boolean.parseBoolean(options.getOrDefault("checkpointing", "false"));
        DecoderSettings settings = new DecoderSettings(
                gpu ? Device.cuda(0) : Device.cpu(),
                gpu ? Precision.BF16 : Precision.FP32,
                checkpointing,
                batchSize * (length + 1),
                integer(options, "threads", 0));

        long begin = System.nanoTime();
        try (TrainableDecoder decoder =
                        TrainableDecoder.open(Path.of(arguments[0]), LoraSettings.of(rank, 2 * rank), settings, 1);
                AdamW optimiser = new AdamW(decoder, AdamW.Settings.DEFAULTS)) {
            OUT.printf(
                    "ours: loaded in %.1f s, %,d trained weights, checkpointing %s%n",
                    (System.nanoTime() - begin) / 1e9, decoder.values().numel(), checkpointing);
            List<Sequence> batch = batch(batchSize, length, decoder.config().vocabulary());
            double tokens = (double) batchSize * length;
            Objective objective =
                    (first, end, logprobs, entropies) -> logprobs.sum().div(new Scalar(-tokens));
            for (int step = 0; step < warmup + steps; step++) {
                if (step == warmup) {
                    begin = System.nanoTime();
                }
                optimiser.zeroGradients();
                double loss = decoder.accumulate(batch, 1, step, objective);
                double norm = optimiser.step(RATE); // reading the norm waits for the device
                if (step == 0 || step == warmup + steps - 1) {
                    OUT.printf("ours: step %d, loss %.4f, gradient norm %.4f%n", step, loss, norm);
                }
            }
            double seconds = (System.nanoTime() - begin) / 1e9 / steps;
            OUT.printf("ours: %.1f ms a step%nours_tokens_per_second=%.1f%n", 1e3 * seconds, tokens / seconds);
        }
    }

    /** One prompt token and {@code length} more, all predicted: {@code length} positions are computed. */
    static List<Sequence> batch(int size, int length, int vocabulary) {
        List<Sequence> batch = new ArrayList<>();
        for (int row = 0; row < size; row++) {
            int[] completion = new int[length];
            for (int i = 0; i < length; i++) {
                completion[i] = (int) ((7919L * (i + 1) + 104_729L * row + 13) % vocabulary);
            }
            batch.add(new Sequence(new int[] {(int) ((104_729L * row + 13) % vocabulary)}, completion));
        }
        return batch;
    }

    /** What follows the checkpoint, as {@code key=value}. */
    static Map<String, String> options(String[] arguments) {
        Map<String, String> options = new HashMap<>();
        for (String argument : Arrays.asList(arguments).subList(1, arguments.length)) {
            String[] parts = argument.split("=", 2);
            options.put(parts[0], parts[parts.length - 1]);
        }
        return options;
    }

    static int integer(Map<String, String> options, String key, int otherwise) {
        return Integer.parseInt(options.getOrDefault(key, Integer.toString(otherwise)));
    }
}
