package org.harnesslearning.trainer.distributed;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.SplittableRandom;
import org.harnesslearning.trainer.decoder.DecoderSettings;
import org.harnesslearning.trainer.decoder.LoraSettings;
import org.harnesslearning.trainer.decoder.Sequence;
import org.harnesslearning.trainer.optimizer.AdamW;

/** A training of some steps whose batches follow from the step's number; rank 0 as a process, or in the test itself. */
@SuppressWarnings("try") // processes and scopes that end with their block
final class RankedTraining {
    private RankedTraining() {}

    static LearnerSettings settings(Path checkpoint) {
        return new LearnerSettings(
                checkpoint,
                LoraSettings.of(4, 8),
                DecoderSettings.onProcessor().withThreads(1).withTokensPerMicroBatch(64),
                AdamW.Settings.DEFAULTS,
                7);
    }

    static List<Sequence> batch(long step) {
        return TinyLlama.batch(7, step);
    }

    static List<Double> weights(long step) {
        SplittableRandom random = new SplittableRandom(step + 1000);
        List<Double> weights = new ArrayList<>();
        for (int i = 0; i < 7; i++) {
            weights.add(random.nextDouble() * 2 - 0.5);
        }
        return weights;
    }

    static Step step(Learner learner, long step) {
        learner.accumulate(batch(step), 0.8, WeightedLoss.of(batch(step), weights(step)));
        return learner.step(1e-2);
    }

    /** Numbers of an adapter's safetensors file, one after the other. */
    static float[] numbers(Learner learner) {
        ByteBuffer file = ByteBuffer.wrap(learner.adapter().weights()).order(ByteOrder.LITTLE_ENDIAN);
        int begin = Math.toIntExact(Long.BYTES + file.getLong());
        float[] numbers = new float[(file.capacity() - begin) / Float.BYTES];
        file.position(begin);
        file.asFloatBuffer().get(numbers);
        return numbers;
    }

    /** A rank as its environment says; rank 0 does a step for each line that it reads. */
    public static void main(String[] arguments) {
        RankEnvironment place = RankEnvironment.of(System.getenv());
        try {
            if (!place.leads()) {
                new Worker(place, GroupMember.SETTINGS).run();
                return;
            }
            Scanner orders = new Scanner(System.in, StandardCharsets.UTF_8);
            try (RankLearners learners = new RankLearners(place, GroupMember.SETTINGS);
                    Learner learner = learners.open(settings(Path.of(arguments[0])))) {
                for (long step = 1; orders.nextLine().equals("step"); step++) {
                    System.out.println("stepped " + step(learner, step).gradientNorm());
                }
            }
        } catch (DistributedException e) {
            System.out.println("ended: " + e.getMessage());
            System.exit(9);
        }
    }
}
