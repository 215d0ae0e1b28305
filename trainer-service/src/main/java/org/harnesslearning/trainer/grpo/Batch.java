package org.harnesslearning.trainer.grpo;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.harnesslearning.store.sample.GroupRow;
import org.harnesslearning.store.sample.SampleRow;
import org.harnesslearning.trainer.decoder.Sequence;
import org.harnesslearning.trainer.method.ModelTokens;
import org.harnesslearning.trainer.run.StepReport;

/**
 * What of some stored groups can be trained on, and counts of all that can't. Only what is in {@code members} was trained.
 *
 * @param members in the order of groups and candidates
 */
record Batch(List<Member> members, Map<String, Double> metrics, Map<String, Long> counts) {
    /**
     * A sample with its advantage.
     *
     * @param sampling log-probabilities of the sampler, by token; none for the token that ended the reply
     */
    record Member(long group, int candidate, Sequence sequence, float[] sampling, double advantage) {}

    /** A stored group with its samples. */
    record Stored(GroupRow group, List<SampleRow> samples) {}

    Batch {
        members = List.copyOf(members);
        metrics = Map.copyOf(metrics);
        counts = Map.copyOf(counts);
    }

    /**
     * Admits groups and their members.
     *
     * @param failed groups that came to nothing
     * @param distinct whether of samples of a group that made the same harness only the first one is a member
     * @param policyStep steps behind the weights that are changed
     * @param maxStaleSteps most steps that a sample's weights may lie behind those
     */
    static Batch of(
            List<Stored> groups,
            int failed,
            GroupRule rule,
            boolean distinct,
            ModelTokens tokens,
            long policyStep,
            long maxStaleSteps) {
        Map<String, Long> counts = new TreeMap<>();
        List<Member> members = new ArrayList<>();
        double plain = 0;
        double withBonus = 0;
        long rewarded = 0;
        long valid = 0;
        long judged = 0;
        long flat = 0;
        add(counts, "groups_failed", failed);
        for (Stored stored : groups) {
            GroupRow group = stored.group();
            add(counts, "samples", stored.samples().size());
            if (Math.abs(policyStep - group.policyStep()) > maxStaleSteps) {
                add(counts, "groups_dropped_stale", 1);
                add(counts, "samples_dropped", stored.samples().size());
                continue;
            }
            for (SampleRow sample : stored.samples()) {
                Double reward = sample.reward();
                if (reward != null) {
                    plain += reward;
                    withBonus += Objects.requireNonNull(sample.rewardWithBonus());
                    rewarded++;
                    valid += sample.valid() ? 1 : 0;
                } else {
                    add(counts, "samples_without_reward", 1);
                    add(counts, "samples_" + sample.reason(), 1);
                }
            }
            double[] rewards = stored.samples().stream()
                    .mapToDouble(sample -> sample.rewardWithBonus() == null ? Double.NaN : sample.rewardWithBonus())
                    .toArray();
            int copies = distinct ? leaveOutCopies(stored.samples(), rewards) : 0;
            add(counts, "samples_copies", copies);
            switch (rule.admit(rewards)) {
                case GroupRule.Admission.Admitted(double[] advantages, int size) -> {
                    judged++;
                    add(counts, "groups_trained", 1);
                    for (int i = 0; i < advantages.length; i++) {
                        if (Double.isFinite(advantages[i])) {
                            members.add(member(group, stored.samples().get(i), advantages[i], tokens));
                        }
                    }
                }
                case GroupRule.Admission.Dropped(GroupRule.Cause dropped, int size) -> {
                    // A group whose samples are all copies of one is not too small: nothing tells them apart.
                    GroupRule.Cause cause = size + copies < rule.minMembers() ? dropped : GroupRule.Cause.ZERO_SPREAD;
                    if (cause == GroupRule.Cause.ZERO_SPREAD) {
                        judged++;
                        flat++;
                    }
                    add(counts, "groups_dropped_" + cause.json(), 1);
                    add(counts, "samples_dropped", size);
                }
            }
        }
        add(counts, "samples_trained", members.size());
        Map<String, Double> metrics = new TreeMap<>();
        if (rewarded > 0) {
            metrics.put(StepReport.REWARD, plain / rewarded);
            metrics.put(StepReport.REWARD_WITH_BONUS, withBonus / rewarded);
            metrics.put(StepReport.VALID_RATE, (double) valid / rewarded);
        }
        if (judged > 0) {
            metrics.put(StepReport.ZERO_SPREAD_SHARE, (double) flat / judged);
        }
        return new Batch(members, metrics, counts);
    }

    /** Takes the reward from all but the first sample of each harness; returns how many had one. */
    private static int leaveOutCopies(List<SampleRow> samples, double[] rewards) {
        Set<String> seen = new HashSet<>();
        int copies = 0;
        for (int i = 0; i < rewards.length; i++) {
            String harness = samples.get(i).harness();
            if (harness != null && Double.isFinite(rewards[i]) && !seen.add(harness)) {
                rewards[i] = Double.NaN;
                copies++;
            }
        }
        return copies;
    }

    private static Member member(GroupRow group, SampleRow sample, double advantage, ModelTokens tokens) {
        int[] prompt = ints(Objects.requireNonNull(group.sampled()).promptTokenIds());
        int[] sampled = ints(Objects.requireNonNull(sample.completionTokenIds()));
        List<Double> logprobs = Objects.requireNonNull(sample.logprobs());
        float[] sampling = new float[logprobs.size()];
        for (int i = 0; i < sampling.length; i++) {
            sampling[i] = logprobs.get(i).floatValue();
        }
        // The server leaves out the token that ended the reply; to end it was a choice of the policy too.
        int[] completion = "stop".equals(sample.finishReason()) ? tokens.ended(sampled) : sampled;
        return new Member(group.number(), sample.candidate(), new Sequence(prompt, completion), sampling, advantage);
    }

    private static int[] ints(List<Integer> values) {
        return values.stream().mapToInt(Integer::intValue).toArray();
    }

    private static void add(Map<String, Long> counts, String name, long number) {
        counts.merge(name, number, Long::sum);
    }

    /** The sequences of all members. */
    List<Sequence> sequences() {
        return members.stream().map(Member::sequence).toList();
    }

    /** Tokens that carry loss. */
    long tokens() {
        return members.stream()
                .mapToLong(member -> member.sequence().completion().length)
                .sum();
    }

    /** Tokens that are computed. */
    long length() {
        return members.stream().mapToLong(member -> member.sequence().length()).sum();
    }

    /** The same members, each with what its loss needs. */
    List<PolicySample> samples(List<float[]> old, List<float[]> reference) {
        List<PolicySample> samples = new ArrayList<>();
        for (int i = 0; i < members.size(); i++) {
            Member member = members.get(i);
            samples.add(new PolicySample(
                    member.advantage(),
                    old.get(i),
                    Arrays.copyOf(member.sampling(), member.sampling().length),
                    reference.isEmpty() ? null : reference.get(i)));
        }
        return samples;
    }
}
