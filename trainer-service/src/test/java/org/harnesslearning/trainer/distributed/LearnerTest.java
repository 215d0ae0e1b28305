package org.harnesslearning.trainer.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.harnesslearning.trainer.decoder.Sequence;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Training with two processes over Gloo, with the real decoder. */
@SuppressWarnings("try") // processes that end with their block
class LearnerTest {
    /** Both sum the same numbers in another order; fp32 has 24 bits. */
    private static final double CLOSE = 2e-5;

    @TempDir
    Path folder;

    private static RankEnvironment leader(int port) {
        return new RankEnvironment(0, 2, "127.0.0.1", port, 0);
    }

    /** What one process does with whole batches. */
    private record Alone(
            List<float[]> logprobs,
            Accumulated sum,
            Step step,
            float[] before,
            float[] first,
            float[] third,
            float[] small) {
        static Alone train(Path checkpoint, List<Sequence> batch, WeightedLoss loss) {
            try (RankLearners learners = new RankLearners(RankEnvironment.single(), GroupMember.SETTINGS);
                    Learner learner = learners.open(RankedTraining.settings(checkpoint))) {
                float[] before = RankedTraining.numbers(learner);
                List<float[]> logprobs = learner.logprobs(batch, 0.8);
                Accumulated sum = learner.accumulate(batch, 0.8, loss);
                Step step = learner.step(1e-2);
                float[] first = RankedTraining.numbers(learner);
                RankedTraining.step(learner, 2);
                RankedTraining.step(learner, 3);
                float[] third = RankedTraining.numbers(learner);
                smallStep(learner);
                return new Alone(logprobs, sum, step, before, first, third, RankedTraining.numbers(learner));
            }
        }
    }

    /** A batch with fewer sequences than ranks. */
    private static void smallStep(Learner learner) {
        List<Sequence> batch = TinyLlama.batch(1, 5);
        learner.accumulate(batch, 1, WeightedLoss.of(batch, List.of(1.0)));
        learner.step(1e-2);
    }

    @Test
    void two_processes_train_as_one_and_go_on_from_a_checkpoint_after_one_is_killed() throws Exception {
        Path checkpoint = TinyLlama.write(folder.resolve("base"), 1);
        // The same relative name leads to other weights in the worker's folder, as on another host.
        Path relative = Path.of("target", "ranks-" + RankProcess.freePort());
        TinyLlama.write(relative, 1);
        TinyLlama.write(folder.resolve(relative), 2);
        List<Sequence> batch = RankedTraining.batch(1);
        Alone alone = Alone.train(checkpoint, batch, WeightedLoss.of(batch, RankedTraining.weights(1)));
        assertThat(alone.step().applied()).isTrue();
        assertThat(alone.first()).isNotEqualTo(alone.before());

        int port = RankProcess.freePort();
        Path saved = Files.createDirectories(folder.resolve("saved"));
        try (RankLearners both = new RankLearners(leader(port), GroupMember.SETTINGS)) {
            float[] uninterrupted;
            try (RankProcess other = worker(port)) {
                assertThatThrownBy(() -> both.open(RankedTraining.settings(relative)))
                        .isInstanceOf(DistributedException.class)
                        .hasMessageMatching("the ranks differ in their base model: rank 0 has \\S+, rank 1 has \\S+");

                try (Learner learner = both.open(RankedTraining.settings(checkpoint))) {
                    assertThat(RankedTraining.numbers(learner)).isEqualTo(alone.before());
                    List<float[]> shared = learner.logprobs(batch, 0.8);
                    for (int i = 0; i < batch.size(); i++) {
                        assertThat(shared.get(i))
                                .containsExactly(alone.logprobs().get(i), within((float) CLOSE));
                    }
                    WeightedLoss loss = WeightedLoss.of(batch, RankedTraining.weights(1));
                    Accumulated sum = learner.accumulate(batch, 0.8, loss);
                    assertThat(sum.loss()).isCloseTo(alone.sum().loss(), within(CLOSE));
                    assertThat(sum.statistics()).containsExactly(alone.sum().statistics(), within(1e-9));
                    double norm = alone.step().gradientNorm();
                    assertThat(learner.step(1e-2).gradientNorm()).isCloseTo(norm, within(CLOSE * norm));
                    assertThat(RankedTraining.numbers(learner)).containsExactly(alone.first(), within((float) CLOSE));
                    RankedTraining.step(learner, 2);
                    RankedTraining.step(learner, 3);
                    assertThat(RankedTraining.numbers(learner))
                            .containsExactly(alone.third(), within((float) (10 * CLOSE)));
                    learner.save(saved);
                    smallStep(learner);
                    uninterrupted = RankedTraining.numbers(learner);
                    assertThat(uninterrupted).containsExactly(alone.small(), within((float) (10 * CLOSE)));

                    // In the middle of a step: the gradients are there, their sum is not.
                    learner.accumulate(batch, 0.8, loss);
                    other.kill();
                    assertThatThrownBy(() -> learner.step(1e-2))
                            .isInstanceOf(DistributedException.class)
                            .hasMessageContaining("rank 1 is lost");
                }
            }
            try (RankProcess again = worker(port);
                    Learner learner = both.open(RankedTraining.settings(checkpoint))) {
                learner.restore(saved);
                smallStep(learner);
                assertThat(RankedTraining.numbers(learner)).isEqualTo(uninterrupted);
                learner.close();
                both.dismiss();
                assertThat(again.waitFor()).isZero();
            }
        }
    }

    private RankProcess worker(int port) throws Exception {
        return RankProcess.startIn(folder, RankedTraining.class, 1, 2, port);
    }

    @Test
    void a_killed_leader_ends_the_worker_with_a_clear_error() throws Exception {
        Path checkpoint = TinyLlama.write(folder.resolve("base"), 1);
        int port = RankProcess.freePort();
        try (RankProcess leader = RankProcess.startIn(folder, RankedTraining.class, 0, 2, port, checkpoint.toString());
                RankProcess other = worker(port)) {
            leader.send("step");
            leader.await("stepped");
            leader.kill();
            assertThat(other.await("ended: ")).contains("rank 0 is lost");
            assertThat(other.waitFor()).isEqualTo(9);
        }
    }

    @Test
    void a_worker_that_never_comes_is_named() throws Exception {
        Path checkpoint = TinyLlama.write(folder.resolve("base"), 1);
        DistributedSettings hasty = new DistributedSettings(
                Duration.ofMillis(300), Duration.ofSeconds(30), Duration.ofMillis(100), Duration.ofSeconds(5), 1, null);
        try (RankLearners both = new RankLearners(leader(RankProcess.freePort()), hasty)) {
            assertThatThrownBy(() -> both.open(RankedTraining.settings(checkpoint)))
                    .isInstanceOf(DistributedException.class)
                    .hasMessageContaining("rank 1 to join; is it started?");
        }
    }
}
