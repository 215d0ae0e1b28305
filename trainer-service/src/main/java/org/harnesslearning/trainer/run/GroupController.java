package org.harnesslearning.trainer.run;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.store.sample.GroupRow;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.store.sample.SampleRow;
import org.jspecify.annotations.Nullable;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** What a run's policy was asked for and what came of it, sample by sample. */
@RestController
class GroupController {
    private static final int MOST = 100;

    /** Token ids and log-probabilities of a group make some hundred KiB. */
    private static final int MOST_WITH_TOKENS = 20;

    private final GroupStore groups;
    private final TrainingDesk desk;

    GroupController(GroupStore groups, TrainingDesk desk) {
        this.groups = groups;
        this.desk = desk;
    }

    /** The groups with a number above {@code after}; those that were not sampled yet have no samples. */
    @GetMapping("/training-runs/{id}/groups")
    Map<String, Object> read(
            @PathVariable("id") String id,
            @RequestParam(name = "after", defaultValue = "0") long after,
            @RequestParam(name = "limit", defaultValue = "20") int limit,
            @RequestParam(name = "tokens", defaultValue = "false") String tokens) {
        if (after < 0) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "after must be at least 0");
        }
        if (!tokens.equals("true") && !tokens.equals("false")) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "tokens must be true or false");
        }
        boolean whole = tokens.equals("true");
        int most = whole ? MOST_WITH_TOKENS : MOST;
        if (limit < 1 || limit > most) {
            throw new PlatformException(
                    ErrorCode.INVALID_FIELD, "limit must be from 1 to " + most + (whole ? " with tokens" : ""));
        }
        desk.get(id);
        List<GroupRow> found = groups.page(id, after, limit + 1);
        List<GroupRow> page = found.size() > limit ? found.subList(0, limit) : found;
        Map<Long, List<SampleRow>> samples = page.isEmpty()
                ? Map.of()
                : groups.samples(id, page.getFirst().number(), page.getLast().number());
        Map<String, Object> view = new LinkedHashMap<>();
        view.put(
                "data",
                page.stream()
                        .map(group -> group(group, samples.getOrDefault(group.number(), List.of()), whole))
                        .toList());
        view.put("next_after", found.size() > limit ? page.getLast().number() : null);
        return view;
    }

    private static Map<String, Object> group(GroupRow group, List<SampleRow> samples, boolean whole) {
        GroupRow.Sampled sampled = group.sampled();
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("number", group.number());
        view.put("batch", group.batch());
        view.put("lane", group.lane());
        view.put("depth", group.depth());
        view.put("policy_step", group.policyStep());
        view.put("family", group.family());
        view.put("item_seed", group.itemSeed());
        view.put("sampling_seed", group.samplingSeed());
        view.put("harness", group.harness());
        view.put("model", group.model());
        view.put("model_version", group.modelVersion());
        view.put("reward_mode", group.rewardMode());
        view.put("state", group.state());
        view.put("run", group.run());
        view.put("attempt", group.attempt());
        view.put("failure", group.failure());
        view.put("weights_version", sampled == null ? null : sampled.weightsVersion());
        view.put("temperature", sampled == null ? null : sampled.temperature());
        view.put("prompt_version", sampled == null ? null : sampled.promptVersion());
        view.put("report_version", sampled == null ? null : sampled.reportVersion());
        view.put("descriptions_version", sampled == null ? null : sampled.descriptionsVersion());
        view.put("baseline", sampled == null ? null : sampled.baseline());
        view.put("chosen", group.chosen());
        if (whole && sampled != null) {
            view.put("prompt_token_ids", sampled.promptTokenIds());
        }
        // Samples that came between the two reads wait for the next page's.
        view.put(
                "samples",
                sampled == null
                        ? List.of()
                        : samples.stream().map(sample -> sample(sample, whole)).toList());
        return view;
    }

    private static Map<String, Object> sample(SampleRow sample, boolean whole) {
        List<Integer> tokens = sample.completionTokenIds();
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("candidate", sample.candidate());
        view.put("seed", sample.seed());
        view.put("finish_reason", sample.finishReason());
        view.put("harness", sample.harness());
        view.put("outcome", sample.outcome());
        view.put("code", sample.code());
        view.put("score", sample.score());
        view.put("reward", sample.reward());
        view.put("reward_with_bonus", sample.rewardWithBonus());
        view.put("valid", sample.valid());
        view.put("reason", sample.reason());
        view.put("tokens", tokens == null ? null : tokens.size());
        view.put("mean_logprob", mean(sample.logprobs()));
        if (whole) {
            view.put("completion_token_ids", tokens);
            view.put("logprobs", sample.logprobs());
        }
        return view;
    }

    private static @Nullable Double mean(@Nullable List<Double> logprobs) {
        if (logprobs == null) {
            return null;
        }
        OptionalDouble mean = logprobs.stream().mapToDouble(Double::doubleValue).average();
        return mean.isPresent() ? mean.getAsDouble() : null;
    }
}
