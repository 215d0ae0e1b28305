package org.harnesslearning.proposer.settings;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.SolverSettings;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.ScorerRef;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.contracts.task.TaskSandbox;
import org.harnesslearning.proposer.edit.ReplyForm;
import org.jspecify.annotations.Nullable;

/**
 * The effective request of a run: every default filled in, the harness and the items replaced by their hashes. It is
 * stored with the run, returned as {@code settings}, and all that the job reads.
 *
 * @param sandbox image and tools that the task names; null for none
 * @param items what the task's splits came to
 * @param rounds null for revisions and evaluations
 * @param selection null for revisions and evaluations
 * @param proposer null for evaluations
 * @param evaluate revisions only: whether the edits are run
 * @param split evaluations only
 * @param repeat evaluations only: 0 for the first scoring
 * @param baseline evaluations only: the harness that the gain is measured against, null for none
 * @param gate null when none was asked for
 * @param regression hashes of the items that must not flip to wrong, in item order; null for none
 * @param versions versions of prompt and report templates; null for evaluations
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record RunSettings(
        TaskSettings task,
        @Nullable TaskSandbox sandbox,
        HarnessSettings harness,
        Map<Split, ItemsSummary> items,
        Splits splits,
        @Nullable Integer candidates,
        @Nullable Integer rounds,
        @Nullable Selection selection,
        @Nullable Proposer proposer,
        @Nullable Boolean evaluate,
        @Nullable Split split,
        @Nullable Integer repeat,
        @Nullable HarnessSettings baseline,
        SolverSettings solver,
        Limits limits,
        Budget budget,
        @Nullable Gate gate,
        @Nullable List<String> regression,
        long seed,
        Map<String, String> labels,
        boolean allowMissingHeldOut,
        @Nullable Versions versions) {

    /** Exactly one of the forms of a task. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record TaskSettings(
            @Nullable ReasoningGym reasoningGym,
            @Nullable String id,
            @Nullable Inline inline) {}

    /** A built-in family. */
    public record ReasoningGym(String family, long seed, Map<String, Object> config) {
        public ReasoningGym {
            config = Map.copyOf(config);
        }
    }

    /** A task given in the request; its items stand beside it. */
    public record Inline(String description, ScorerRef scorer) {}

    /** The starting harness by content. */
    public record HarnessSettings(String hash) {}

    /** Items of one split as everybody may see them. */
    public record ItemsSummary(int count, List<String> hashes) {
        public ItemsSummary {
            hashes = List.copyOf(hashes);
        }

        /** Summary of items. */
        public static ItemsSummary of(List<Item> items) {
            return new ItemsSummary(items.size(), items.stream().map(Item::hash).toList());
        }
    }

    /** Number of questions by split. */
    public record Splits(int feedback, int dev, int heldOut) {
        /** Defaults of the public API. */
        public static final Splits DEFAULTS = new Splits(6, 12, 24);

        /** Number of one split. */
        public int of(Split split) {
            return switch (split) {
                case FEEDBACK -> feedback;
                case DEV -> dev;
                case HELD_OUT -> heldOut;
            };
        }
    }

    /** Which harness goes on after a round. */
    public enum Selection {
        /** The incumbent, unless a candidate has a strictly higher dev mean; ties go to the lowest index. */
        KEEP_INCUMBENT,
        /** The best candidate of the round, even when it is worse than the incumbent. */
        BEST_OF_ROUND;

        /** Name in JSON, lower case. */
        @JsonValue
        public String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * The model that writes edits.
     *
     * @param demonstrations full name of a set of earlier turns; {@code none} for no set
     * @param replyPrefix first characters of the reply, given to a local model
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record Proposer(
            String model,
            double temperature,
            double topP,
            int maxTokens,
            String demonstrations,
            ReplyForm replyForm,
            @Nullable String replyPrefix) {}

    /**
     * Most that a run may use; unused parts are not paid.
     *
     * @param solverCalls calls of {@code env.llm} over the whole run
     * @param tokens prompt and completion tokens of proposer and solver together
     * @param wallClockS seconds of work, pauses not counted
     * @param toolCalls calls of {@code env.tool} over the whole run; null for tasks without tools
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record Budget(
            long solverCalls,
            long tokens,
            long wallClockS,
            @Nullable Long toolCalls) {
        /** Defaults of the public API, without tools. */
        public static final Budget DEFAULTS = new Budget(2000, 2_000_000, 3600, null);

        /** Calls of tools; 0 without tools. */
        public long mostToolCalls() {
            return toolCalls == null ? 0 : toolCalls;
        }
    }

    /**
     * What a result must be to pass.
     *
     * @param minGain least mean gain; null only where an evaluation has no baseline
     * @param confidence level of the gain's interval, whose lower bound must be above 0
     * @param maxCost most cost of the whole run; null for no bound
     * @param minScore evaluations only: least mean score; null for no bound
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record Gate(
            @Nullable Double minGain,
            double confidence,
            @Nullable Double maxCost,
            @Nullable Double minScore) {}

    /** Versions of what the proposer reads; never mixed within a run. */
    public record Versions(String prompt, String report, String descriptions) {}

    public RunSettings {
        items = Map.copyOf(items);
        regression = regression == null ? null : List.copyOf(regression);
        labels = Map.copyOf(labels);
    }

    /** Confidence level of all intervals of the run. */
    public double confidence() {
        return gate == null ? 0.95 : gate.confidence();
    }
}
