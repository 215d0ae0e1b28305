package org.harnesslearning.gateway.page;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** An adaptation as the API answers it, as far as pages show it. */
record RunAnswer(
        String id,
        String state,
        @Nullable String stopReason,
        @Nullable String message,
        Settings settings,
        Instant createdAt,
        @Nullable Instant finishedAt,
        @Nullable Progress progress,
        @Nullable Baseline baseline,
        List<Round> rounds,
        @Nullable Counts counts,
        @Nullable Result result,
        boolean recorded,
        @Nullable Usage usage,
        @Nullable String lineageHash) {

    /** States in which a run of any kind has ended. */
    static final Set<String> ENDS = Set.of("succeeded", "failed", "cancelled");

    /** Answer of the list. */
    record Listed(List<RunAnswer> data, @Nullable String nextCursor) {}

    record Settings(
            Task task,
            @Nullable Integer candidates,
            @Nullable Integer rounds,
            @Nullable String selection,
            @Nullable Model proposer,
            @Nullable Model solver,
            @Nullable Budget budget,
            @Nullable Gate gate,
            long seed,
            @Nullable Map<String, String> labels,
            @Nullable Map<String, JsonNode> items) {
        /** Number of questions by split; scope admin gets the items themselves in the place of a summary. */
        public Map<String, Integer> questions() {
            Map<String, Integer> counts = new LinkedHashMap<>();
            if (items != null) {
                items.forEach((split, value) -> counts.put(
                        split,
                        value.isArray() ? value.size() : value.path("count").asInt(0)));
            }
            return counts;
        }
    }

    record Task(
            @Nullable Family reasoningGym,
            @Nullable JsonNode qa,
            @Nullable String id,
            @Nullable Inline inline) {
        /** What to call it. */
        public String name() {
            if (reasoningGym != null) {
                return reasoningGym.family();
            }
            if (id != null) {
                return id;
            }
            return inline == null ? "multi-hop questions" : "questions in the request";
        }
    }

    record Family(String family, long seed) {}

    record Inline(@Nullable String description) {}

    record Model(
            String model,
            @Nullable Double temperature,
            @Nullable Integer maxTokens,
            @Nullable String demonstrations,
            @Nullable String replyForm) {}

    record Budget(long solverCalls, long tokens, long wallClockS) {}

    record Gate(double minGain, double confidence, @Nullable Double maxCost) {}

    record Progress(long done, long planned, String unit) {
        /** Share done in per cent. */
        public int percent() {
            return planned <= 0 ? 0 : (int) Math.min(100, 100 * done / planned);
        }
    }

    record Baseline(String harness, @Nullable Score score) {}

    record Interval(@Nullable Double level, double low, double high) {}

    record Score(
            double mean,
            @Nullable Double strict,
            int n,
            @Nullable Interval ci,
            @Nullable Interval strictCi,
            @Nullable String name) {}

    record Round(
            int index,
            String parent,
            @Nullable Report report,
            List<Candidate> candidates,
            @Nullable String chosen) {
        /** Whether a candidate is what the round chose: the first that has the chosen harness. */
        public boolean chose(Candidate candidate) {
            return chosen != null
                    && !chosen.equals(parent)
                    && candidates.stream()
                            .filter(other -> chosen.equals(other.harness()))
                            .findFirst()
                            .map(first -> first.index() == candidate.index())
                            .orElse(false);
        }

        /** Whether the round went on with what it started from. */
        public boolean kept() {
            return Objects.equals(chosen, parent);
        }
    }

    record Report(@Nullable Double mean, int n) {}

    record Candidate(
            int index,
            @Nullable String outcome,
            @Nullable String code,
            @Nullable String message,
            @Nullable String tier,
            @Nullable String harness,
            @Nullable JsonNode duplicateOf,
            @Nullable Score score,
            @Nullable String demonstration,
            @Nullable Double similarity,
            @Nullable RoleUsage usage) {
        /** The candidate whose score this one shares; empty for none. */
        public String twin() {
            return duplicateOf == null || duplicateOf.isNull() ? "" : duplicateOf.asString();
        }
    }

    record RoleUsage(
            long calls,
            long promptTokens,
            long completionTokens,
            long ms,
            @Nullable Double cost) {
        public long tokens() {
            return promptTokens + completionTokens;
        }
    }

    record Usage(
            long repeated,
            long cached,
            @Nullable RoleUsage proposer,
            @Nullable RoleUsage solver,
            @Nullable Double cost,
            @Nullable Long wallClockMs) {
        /** Tokens of both roles. */
        public long tokens() {
            return (proposer == null ? 0 : proposer.tokens()) + (solver == null ? 0 : solver.tokens());
        }
    }

    record Counts(
            long attempted,
            long scored,
            long invalid,
            long infraFailure,
            long notFinished,
            long duplicates,
            Map<String, Long> byCode) {}

    record Result(
            @Nullable String harness,
            @Nullable HeldOut heldOut,
            @Nullable Noise noise,
            @Nullable String gate) {}

    record HeldOut(
            @Nullable Score seed,
            @Nullable Score result,
            @Nullable List<Score> demonstrations,
            @Nullable Gain gain) {}

    record Gain(double mean, @Nullable Interval ci) {}

    record Noise(int repeats, @Nullable Double meanAbsDiff) {}

    /** The best dev mean among what was chosen; null before the first choice. */
    public @Nullable Double bestDev() {
        Double best = baseline == null || baseline.score() == null
                ? null
                : baseline.score().mean();
        for (Round round : rounds) {
            for (Candidate candidate : round.candidates()) {
                if (round.chose(candidate) && candidate.score() != null) {
                    best = candidate.score().mean();
                }
            }
        }
        return best;
    }

    /** Dev mean of the chosen harness over the starting one's. */
    public @Nullable Double devGain() {
        Double best = bestDev();
        return best == null || baseline == null || baseline.score() == null
                ? null
                : Double.valueOf(best - baseline.score().mean());
    }

    /** The held-out gain; null where not measured. */
    public @Nullable Gain heldOutGain() {
        return result == null || result.heldOut() == null
                ? null
                : result.heldOut().gain();
    }

    /** Whether it has ended. */
    public boolean over() {
        return ENDS.contains(state);
    }

    /** Whether an interval lies above 0: the gain is more than chance. */
    public boolean improved() {
        Gain gain = heldOutGain();
        return gain != null && gain.ci() != null && gain.ci().low() > 0;
    }
}
