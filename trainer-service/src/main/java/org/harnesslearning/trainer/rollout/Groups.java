package org.harnesslearning.trainer.rollout;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.sample.GroupRow;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.store.sample.SampleRow;
import org.harnesslearning.trainer.reward.Judged;
import org.harnesslearning.trainer.reward.Reward;
import org.harnesslearning.trainer.reward.RewardMode;
import org.harnesslearning.trainer.reward.Rewards;
import org.harnesslearning.trainer.run.TrainingContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;
import org.springframework.transaction.support.TransactionTemplate;
import tools.jackson.databind.node.ObjectNode;

/** Brings one ordered group to its stored samples with their rewards. */
@Component
public class Groups {
    private static final Logger LOG = LoggerFactory.getLogger(Groups.class);

    private final Revisions revisions;
    private final Answers answers;
    private final GroupStore groups;
    private final HarnessStore harnesses;
    private final TransactionTemplate tx;

    Groups(Revisions revisions, Answers answers, GroupStore groups, HarnessStore harnesses, TransactionTemplate tx) {
        this.revisions = revisions;
        this.answers = answers;
        this.groups = groups;
        this.harnesses = harnesses;
        this.tx = tx;
    }

    /** Which harness goes on. */
    public enum Selection {
        /** None does: each group stands for itself. */
        NONE,
        /** The parent, unless a sample has a strictly higher dev mean; ties go to the lowest index. */
        KEEP_INCUMBENT,
        /** The best scored sample, even when it is worse than its parent; the parent where none is scored. */
        BEST_OF_ROUND
    }

    /**
     * Orders the group's revision, waits for it and stores what came of it. A group that was ordered before is taken up
     * where it stands.
     *
     * @throws RolloutFailure when there is nothing to train on; the group is stored as failed then
     */
    public GroupRow sample(
            GroupRow group, Rewards rewards, Selection selection, Duration patience, TrainingContext.Desk desk) {
        if (group.state() != GroupRow.State.ORDERED) {
            return group;
        }
        try {
            return attempt(group, rewards, selection, patience, desk);
        } catch (RolloutFailure e) {
            groups.failed(group.trainingRun(), group.number(), e.why());
            LOG.warn("{} group {} failed: {}", group.trainingRun(), group.number(), e.why());
            throw e;
        }
    }

    private GroupRow attempt(
            GroupRow group, Rewards rewards, Selection selection, Duration patience, TrainingContext.Desk desk) {
        String key = group.trainingRun() + "-g" + group.number() + "-a" + group.attempt();
        String run = group.run();
        if (run == null) {
            run = revisions.revise(group.request(), key, desk);
            groups.run(group.trainingRun(), group.number(), run);
        }
        RunRow ended = revisions.await(run, "revision of " + group.family(), patience, desk);
        Answers.Revision revision = answers.revision(ended);
        Answers.Call call = onlyCall(group, revision);
        Measured measured = measure(group, revision, rewards.mode(), selection, key, patience, desk);

        List<SampleRow> samples = new ArrayList<>();
        for (Answers.Candidate candidate : revision.candidates()) {
            samples.add(sample(candidate, measured, rewards));
        }
        tell(group, samples);
        GroupRow.Sampled sampled = new GroupRow.Sampled(
                call.weightsVersion() == null ? "" : call.weightsVersion(),
                revision.temperature(),
                revision.promptVersion(),
                revision.reportVersion(),
                revision.descriptionsVersion(),
                call.promptTokenIds() == null ? List.of() : call.promptTokenIds(),
                measured.baseline());
        String chosen = choose(selection, revision, measured.parentDev());
        tx.executeWithoutResult(status -> {
            groups.sampled(group.trainingRun(), group.number(), sampled, samples);
            if (chosen != null) {
                groups.chosen(group.trainingRun(), group.number(), chosen);
            }
        });
        return groups.find(group.trainingRun(), group.number()).orElseThrow();
    }

    /** All samples of a group have one prompt and one version of the weights: they come from one call. */
    private static Answers.Call onlyCall(GroupRow group, Answers.Revision revision) {
        if (revision.calls().size() != 1) {
            throw new RolloutFailure(
                    ErrorCode.INVALID_STATE,
                    revision.run() + " has " + revision.calls().size()
                            + " calls of the proposer; a group has one prompt");
        }
        Answers.Call call = revision.calls().getFirst();
        if (call.promptTokenIds() == null || call.promptTokenIds().isEmpty() || call.weightsVersion() == null) {
            throw new RolloutFailure(
                    ErrorCode.INVALID_FIELD,
                    "model " + group.model()
                            + " gives no token ids of its prompt or no version of its weights: it can't be"
                            + " the policy");
        }
        String adapter = group.modelVersion().substring(group.modelVersion().indexOf(':') + 1);
        if (!call.weightsVersion().endsWith(adapter)) {
            throw new RolloutFailure(
                    ErrorCode.INVALID_STATE,
                    revision.run() + " was sampled from " + call.weightsVersion() + ", not from "
                            + group.modelVersion());
        }
        return call;
    }

    /**
     * What was scored beside the revision itself.
     *
     * @param baseline the parent on the questions of the reward; delta modes only
     * @param parentDev the parent on the dev questions, where the selection asks for it
     * @param sameBatch edited harnesses on the questions of the report, by hash; {@code delta_same_batch} only
     */
    private record Measured(
            RewardMode mode,
            @Nullable Double baseline,
            @Nullable Double parentDev,
            Map<String, Double> sameBatch) {
        @Nullable
        Double score(Answers.Candidate candidate) {
            return mode == RewardMode.DELTA_SAME_BATCH ? sameBatch.get(candidate.harness()) : candidate.mean();
        }
    }

    private Measured measure(
            GroupRow group,
            Answers.Revision revision,
            RewardMode mode,
            Selection selection,
            String key,
            Duration patience,
            TrainingContext.Desk desk) {
        ObjectNode request = (ObjectNode) group.request();
        Double parentDev = null;
        if (mode.parentOnDev() || selection == Selection.KEEP_INCUMBENT) {
            parentDev = evaluate(request, revision.parent(), Split.DEV, 0, key, patience, desk);
        }
        Map<String, Double> sameBatch = new HashMap<>();
        if (mode == RewardMode.DELTA_SAME_BATCH) {
            Set<String> scored = new LinkedHashSet<>();
            revision.candidates().stream()
                    .filter(candidate -> candidate.outcome() == CandidateOutcome.SCORED)
                    .map(Answers.Candidate::harness)
                    .filter(harness -> harness != null)
                    .forEach(scored::add);
            for (String harness : scored) {
                try {
                    sameBatch.put(harness, evaluate(request, harness, Split.FEEDBACK, 0, key, patience, desk));
                } catch (RolloutFailure e) {
                    LOG.warn("{} group {}: {} has no score: {}", group.trainingRun(), group.number(), harness, e.why());
                }
            }
        }
        Double baseline = switch (mode) {
            case ABSOLUTE -> null;
            case DELTA_SAME_BATCH -> revision.reportMean();
            case DELTA_DEV, IMPROVEMENT_DEV -> parentDev;
        };
        return new Measured(mode, baseline, parentDev, sameBatch);
    }

    /** Mean of one harness on one split of a revision's questions. */
    double evaluate(
            ObjectNode revision,
            String harness,
            Split split,
            int repeat,
            String key,
            Duration patience,
            TrainingContext.Desk desk) {
        ObjectNode body = Requests.evaluation(revision, harnesses.source(harness), split.json(), repeat);
        String hash = harness.substring(harness.indexOf(':') + 1);
        String run = revisions.evaluate(
                body,
                key + "-" + split.json() + "-" + repeat + "-" + hash.substring(0, Math.min(16, hash.length())),
                desk);
        revisions.await(run, "evaluation", patience, desk);
        return answers.mean(run);
    }

    private static SampleRow sample(Answers.Candidate candidate, Measured measured, Rewards rewards) {
        Double score = candidate.outcome() == CandidateOutcome.SCORED ? measured.score(candidate) : null;
        Reward reward = rewards.of(Judged.of(candidate.outcome(), candidate.code(), score), measured.baseline());
        String broken = brokenTokens(candidate);
        Double plain = null;
        Double withBonus = null;
        boolean valid = false;
        String reason = broken;
        switch (reward) {
            case Reward.Given given -> {
                valid = given.valid();
                if (broken == null) {
                    plain = given.plain();
                    withBonus = given.withBonus();
                }
            }
            case Reward.Missing missing -> reason = missing.reason().json();
        }
        return new SampleRow(
                candidate.candidate(),
                candidate.seed(),
                candidate.tokenIds(),
                candidate.logprobs(),
                candidate.finishReason(),
                candidate.harness(),
                candidate.outcome(),
                candidate.code(),
                score,
                plain,
                withBonus,
                valid,
                reason);
    }

    /** Why the tokens of a sample can't be trained on; null when they can. */
    private static @Nullable String brokenTokens(Answers.Candidate candidate) {
        List<Integer> tokens = candidate.tokenIds();
        List<Double> logprobs = candidate.logprobs();
        if (tokens == null) {
            return "no_token_ids";
        }
        if (logprobs == null || logprobs.size() != tokens.size()) {
            return "no_logprobs";
        }
        if (logprobs.stream().anyMatch(logprob -> logprob > 1e-3)) {
            return "bad_logprobs";
        }
        return null;
    }

    private static void tell(GroupRow group, List<SampleRow> samples) {
        Map<String, Integer> missing = new HashMap<>();
        samples.forEach(sample -> {
            String reason = sample.reason();
            if (reason != null) {
                missing.merge(reason, 1, Integer::sum);
            }
        });
        if (!missing.isEmpty()) {
            LOG.warn(
                    "{} group {}: {} of {} samples have no reward and leave the group: {}",
                    group.trainingRun(),
                    group.number(),
                    missing.values().stream().mapToInt(Integer::intValue).sum(),
                    samples.size(),
                    missing);
        }
    }

    private static @Nullable String choose(Selection selection, Answers.Revision revision, @Nullable Double parentDev) {
        if (selection == Selection.NONE) {
            return null;
        }
        String best = revision.parent();
        double bar = selection == Selection.KEEP_INCUMBENT && parentDev != null ? parentDev : Double.NEGATIVE_INFINITY;
        for (Answers.Candidate candidate : revision.candidates()) {
            Double mean = candidate.mean();
            String harness = candidate.harness();
            if (candidate.outcome() == CandidateOutcome.SCORED && mean != null && harness != null && mean > bar) {
                best = harness;
                bar = mean;
            }
        }
        return best;
    }
}
