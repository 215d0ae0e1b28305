package org.harnesslearning.trainer.grpo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.trainer.decoder.DecoderSettings;
import org.harnesslearning.trainer.decoder.LoraSettings;
import org.harnesslearning.trainer.decoder.TinyModels;
import org.harnesslearning.trainer.decoder.TrainableDecoder;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** The objective on real tensors beside a reference in plain doubles and finite differences of that. */
@SuppressWarnings("try") // scopes free what is made inside
class PolicyObjectiveTests {
    private static final PolicyLoss ALL = new PolicyLoss(0.2, 0.28, 0.04, 0.01, 2);

    /** Samples of uneven length around the current policy, some tokens far outside of the clip on either side. */
    private static final class Case {
        final List<PolicySample> samples;
        final double[] logprobs;
        final double[] entropies;

        Case(List<PolicySample> samples, double[] logprobs) {
            this.samples = samples;
            this.logprobs = logprobs;
            this.entropies = new double[logprobs.length];
        }

        Case(long seed) {
            Random random = new Random(seed);
            samples = new ArrayList<>();
            List<Double> now = new ArrayList<>();
            for (int s = 0; s < 5; s++) {
                int n = 1 + random.nextInt(9);
                float[] old = new float[n];
                float[] reference = new float[n];
                float[] sampling = new float[s % 2 == 0 ? n : n - 1];
                for (int i = 0; i < n; i++) {
                    double logprob = -3 * random.nextDouble() - 0.05;
                    now.add(logprob);
                    old[i] = (float) (logprob + random.nextGaussian() * 0.4);
                    reference[i] = (float) (logprob + random.nextGaussian() * 0.3);
                    if (i < sampling.length) {
                        sampling[i] = (float) (old[i] + random.nextGaussian() * 0.6);
                    }
                }
                samples.add(new PolicySample(random.nextGaussian(), old, sampling, reference));
            }
            logprobs = now.stream().mapToDouble(value -> (float) (double) value).toArray();
            entropies =
                    random.doubles(logprobs.length).map(value -> (float) value).toArray();
        }

        double tokens() {
            return logprobs.length;
        }
    }

    private record Computed(double loss, double[] byLogprob, double[] byEntropy, Map<String, Double> metrics) {}

    private static Computed compute(PolicyLoss loss, Case given, int... bounds) {
        return compute(loss, given, "cpu", bounds);
    }

    private static Computed compute(PolicyLoss loss, Case given, String device, int... bounds) {
        try (PointerScope scope = new PointerScope()) {
            PolicyObjective objective = PolicyObjective.of(loss, given.samples);
            Tensor logprobs = leaf(given.logprobs, device);
            Tensor entropies = leaf(given.entropies, device);
            double sum = 0;
            int from = 0;
            int token = 0;
            for (int to : bounds) {
                int n = given.samples.subList(from, to).stream()
                        .mapToInt(PolicySample::count)
                        .sum();
                Tensor part = objective.loss(from, to, logprobs.narrow(0, token, n), entropies.narrow(0, token, n));
                part.backward();
                sum += part.item_double();
                token += n;
                from = to;
            }
            return new Computed(
                    sum,
                    gradient(logprobs),
                    loss.entropyCoefficient() > 0 ? gradient(entropies) : new double[given.logprobs.length],
                    PolicyStatistics.of(objective.statistics()).metrics());
        }
    }

    private static Tensor leaf(double[] values) {
        return leaf(values, "cpu");
    }

    private static Tensor leaf(double[] values, String device) {
        float[] floats = new float[values.length];
        for (int i = 0; i < values.length; i++) {
            floats[i] = (float) values[i];
        }
        return Tensor.create(floats)
                .to(new Device(device), torch.ScalarType.Float)
                .set_requires_grad(true);
    }

    private static double[] gradient(Tensor leaf) {
        FloatBuffer buffer = leaf.grad().cpu().contiguous().createBuffer();
        double[] values = new double[buffer.remaining()];
        for (int i = 0; i < values.length; i++) {
            values[i] = buffer.get(i);
        }
        return values;
    }

    @Test
    void loss_and_gradient_equal_the_reference_for_all_settings() {
        PolicyLoss[] settings = {
            PolicyLoss.DEFAULTS,
            ALL,
            new PolicyLoss(0.2, 0.28, 0.5, 0, 1),
            new PolicyLoss(0, 0, 0, 0, 5),
            new PolicyLoss(0.9, 10, 0, 0.3, 1e6)
        };
        for (long seed = 0; seed < 20; seed++) {
            Case given = new Case(seed);
            for (PolicyLoss loss : settings) {
                Computed computed = compute(loss, given, given.samples.size());
                ReferencePolicyLoss.Result reference =
                        ReferencePolicyLoss.of(loss, given.samples, given.logprobs, given.entropies, given.tokens());

                assertThat(computed.loss()).isEqualTo(reference.loss(), within(1e-5));
                assertThat(computed.byLogprob()).containsExactly(reference.byLogprob(), within(1e-5));
                assertThat(computed.byEntropy()).containsExactly(reference.byEntropy(), within(1e-6));
            }
        }
    }

    @Test
    @Tag("cuda")
    @EnabledIf(
            value = "org.harnesslearning.trainer.decoder.DecoderCudaTest#gpuIsHere",
            disabledReason = "no NVIDIA GPU with its driver is here")
    void a_gpu_gives_the_loss_and_gradient_of_the_reference(@TempDir Path folder) {
        // Opening a decoder there makes PyTorch know the GPU.
        try (TrainableDecoder _ = TrainableDecoder.open(
                TinyModels.write(folder, "llama-untied"), LoraSettings.of(2, 4), DecoderSettings.onGpu(0), 1)) {
            for (long seed = 0; seed < 5; seed++) {
                Case given = new Case(seed);
                Computed computed = compute(ALL, given, "cuda:0", given.samples.size());
                ReferencePolicyLoss.Result reference =
                        ReferencePolicyLoss.of(ALL, given.samples, given.logprobs, given.entropies, given.tokens());

                assertThat(computed.loss()).isEqualTo(reference.loss(), within(1e-5));
                assertThat(computed.byLogprob()).containsExactly(reference.byLogprob(), within(1e-5));
                assertThat(computed.byEntropy()).containsExactly(reference.byEntropy(), within(1e-6));
            }
        }
    }

    @Test
    void the_gradient_equals_finite_differences_of_the_reference() {
        Case given = new Case(7);
        Computed computed = compute(ALL, given, given.samples.size());

        double step = 1e-6;
        for (int i = 0; i < given.logprobs.length; i++) {
            double[] up = given.logprobs.clone();
            double[] down = given.logprobs.clone();
            up[i] += step;
            down[i] -= step;
            double slope = (ReferencePolicyLoss.of(ALL, given.samples, up, given.entropies, given.tokens())
                                    .loss()
                            - ReferencePolicyLoss.of(ALL, given.samples, down, given.entropies, given.tokens())
                                    .loss())
                    / (2 * step);
            assertThat(computed.byLogprob()[i]).as("token %d", i).isEqualTo(slope, within(2e-5));
        }
    }

    @Test
    void micro_batches_add_up_to_the_whole_batch() {
        Case given = new Case(3);
        Computed whole = compute(ALL, given, 5);
        Computed parts = compute(ALL, given, 1, 3, 5);

        assertThat(parts.loss()).isEqualTo(whole.loss(), within(1e-6));
        assertThat(parts.byLogprob()).containsExactly(whole.byLogprob(), within(1e-7));
        assertThat(parts.metrics()).isEqualTo(whole.metrics());
    }

    @Test
    void shares_of_two_processes_add_up_to_the_whole_batch_after_travelling_as_json() {
        Case given = new Case(5);
        PolicyObjective whole = PolicyObjective.of(ALL, given.samples);
        List<List<Integer>> shares = List.of(List.of(0, 2, 4), List.of(1, 3));

        double loss = 0;
        double[] statistics = null;
        try (PointerScope scope = new PointerScope()) {
            for (List<Integer> share : shares) {
                PolicyObjective part = Json.read(Json.write(whole.share(share)), PolicyObjective.class);
                List<Double> logprobs = new ArrayList<>();
                List<Double> entropies = new ArrayList<>();
                int at = 0;
                for (int s = 0; s < given.samples.size(); s++) {
                    for (int i = 0; i < given.samples.get(s).count(); i++, at++) {
                        if (share.contains(s)) {
                            logprobs.add(given.logprobs[at]);
                            entropies.add(given.entropies[at]);
                        }
                    }
                }
                loss += part.loss(
                                0,
                                share.size(),
                                leaf(logprobs.stream().mapToDouble(v -> v).toArray()),
                                leaf(entropies.stream().mapToDouble(v -> v).toArray()))
                        .item_double();
                statistics = statistics == null ? part.statistics() : whole.merge(statistics, part.statistics());
            }
        }
        Computed expected = compute(ALL, given, 5);

        assertThat(loss).isEqualTo(expected.loss(), within(1e-6));
        Map<String, Double> metrics = PolicyStatistics.of(statistics).metrics();
        assertThat(metrics.keySet()).isEqualTo(expected.metrics().keySet());
        metrics.forEach((name, value) ->
                assertThat(value).as(name).isEqualTo(expected.metrics().get(name), within(1e-9)));
    }

    @Test
    void an_advantage_of_zero_moves_nothing_but_the_kl_term_still_pulls() {
        float[] old = {-1f, -2f};
        PolicySample flat = new PolicySample(0, old, old, new float[] {-0.5f, -2.5f});
        Case two = new Case(List.of(flat), new double[] {-1, -2});

        assertThat(compute(PolicyLoss.DEFAULTS, two, 1).byLogprob()).containsExactly(new double[] {0, 0}, within(0.0));
        double[] pulled = compute(new PolicyLoss(0.2, 0.28, 0.1, 0, 2), two, 1).byLogprob();
        assertThat(pulled[0]).as("the reference is likelier: up").isNegative();
        assertThat(pulled[1]).as("the reference is less likely: down").isPositive();
    }

    @Test
    void clipping_is_asymmetric_and_only_stops_what_would_go_on_outwards() {
        // ratio 1.25 lies inside of 1.28 upwards, ratio 0.75 outside of 0.8 downwards
        double up = Math.log(1.25);
        double down = Math.log(0.75);
        float[] zero = {0f, 0f};
        Case good = new Case(List.of(new PolicySample(1, zero, zero, null)), new double[] {up, down});
        Case bad = new Case(List.of(new PolicySample(-1, zero, zero, null)), new double[] {up, down});

        double[] rewarded = compute(PolicyLoss.DEFAULTS, good, 1).byLogprob();
        double[] punished = compute(PolicyLoss.DEFAULTS, bad, 1).byLogprob();

        assertThat(rewarded[0]).isEqualTo(-1.25 / 2, within(1e-6));
        assertThat(rewarded[1]).isEqualTo(-0.75 / 2, within(1e-6));
        assertThat(punished[0]).isEqualTo(1.25 / 2, within(1e-6));
        assertThat(punished[1]).isZero();
        assertThat(compute(PolicyLoss.DEFAULTS, bad, 1).metrics().get("clip_share"))
                .isEqualTo(0.5);
    }

    @Test
    void a_token_that_the_sampler_found_unlikelier_weighs_more_up_to_the_cap() {
        float[] old = {-1f, -1f, -1f};
        float[] sampling = {-1.5f, -4f};
        Case given = new Case(List.of(new PolicySample(1, old, sampling, null)), new double[] {-1, -1, -1});

        Computed computed = compute(PolicyLoss.DEFAULTS, given, 1);

        assertThat(computed.byLogprob()[0]).isEqualTo(-Math.exp(0.5) / 3, within(1e-6));
        assertThat(computed.byLogprob()[1]).as("capped").isEqualTo(-2.0 / 3, within(1e-6));
        assertThat(computed.byLogprob()[2])
                .as("not sampled: the end of the reply")
                .isEqualTo(-1.0 / 3, within(1e-6));
        assertThat(computed.metrics().get("importance_capped_share")).isEqualTo(0.5);
        assertThat(computed.metrics().get("sampler_gap_max")).isEqualTo(3, within(1e-6));
    }

    @Test
    void samples_that_do_not_fit_the_forward_pass_are_refused() {
        Case given = new Case(2);
        try (PointerScope scope = new PointerScope()) {
            PolicyObjective objective = PolicyObjective.of(ALL, given.samples);
            Tensor tooShort = leaf(new double[] {-1});

            assertThatThrownBy(() -> objective.loss(0, 5, tooShort, tooShort)).hasMessageContaining("tokens");
        }
        assertThatThrownBy(() -> new PolicySample(Double.NaN, new float[1], new float[1], null))
                .hasMessageContaining("advantage");
        assertThatThrownBy(() -> new PolicySample(1, new float[1], new float[2], null))
                .hasMessageContaining("lengths");
    }
}
