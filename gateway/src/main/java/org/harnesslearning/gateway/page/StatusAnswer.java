package org.harnesslearning.gateway.page;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the platform does now, as the API answers it. */
record StatusAnswer(
        Map<String, Long> runs,
        @Nullable Map<String, Map<String, Long>> runsByKind,
        Jobs jobs,
        Sandbox sandbox,
        Solver solver,
        Outcomes outcomes,
        Spend spend,
        List<Minute> history) {
    record Jobs(long waiting, long working, @Nullable Double oldestWaitingS) {
        /** How long the oldest waits, in milliseconds. */
        public long oldestWaitingMs() {
            return oldestWaitingS == null ? 0 : Math.round(1000 * oldestWaitingS);
        }
    }

    record Sandbox(long executors, long running, long waiting, long idle, long starting) {}

    record Solver(long callsInFlight, double tokensPerS, double callsPerS, int windowS) {}

    record Outcomes(Instant since, long scored, long invalid, long infraFailure, Map<String, Long> byCode) {}

    record Spend(
            Instant since,
            RunAnswer.RoleUsage proposer,
            RunAnswer.RoleUsage solver,
            @Nullable Double cost) {}

    record Minute(Instant at, long tokens, long questions) {}

    /**
     * Runs of another kind than adaptations that have not ended.
     *
     * @param kind as the page of runs takes it
     * @param text such as {@code 3 revisions at work, 1 paused}
     */
    public record Beside(String kind, String text) {}

    /** What is under way beside the adaptations; kinds without such runs are left out. */
    public List<Beside> beside() {
        List<Beside> beside = new ArrayList<>();
        for (String kind : List.of("revision", "evaluation")) {
            // An older service beside this one does not count them.
            Map<String, Long> counts = runsByKind == null ? Map.of() : runsByKind.getOrDefault(kind, Map.of());
            long working = counts.getOrDefault("running", 0L) + counts.getOrDefault("queued", 0L);
            long paused = counts.getOrDefault("paused", 0L);
            if (working + paused > 0) {
                long first = working > 0 ? working : paused;
                beside.add(new Beside(
                        kind + "s",
                        first + " " + kind + (first == 1 ? "" : "s") + (working > 0 ? " at work" : " paused")
                                + (working > 0 && paused > 0 ? ", " + paused + " paused" : "")));
            }
        }
        return beside;
    }

    /** Runs in a state. */
    public long runs(String state) {
        return runs.getOrDefault(state, 0L);
    }

    /** Tokens of both roles in the last day. */
    public long tokens() {
        return spend.solver().tokens() + spend.proposer().tokens();
    }

    /** Times of the history, seconds since 1970, and tokens a second, as the chart takes them. */
    public String chart() {
        StringBuilder times = new StringBuilder();
        StringBuilder values = new StringBuilder();
        for (Minute minute : history) {
            String comma = times.isEmpty() ? "" : ",";
            times.append(comma).append(minute.at().getEpochSecond());
            values.append(comma).append(Math.round(minute.tokens() / 6.0) / 10.0);
        }
        return "[[" + times + "],[" + values + "]]";
    }
}
