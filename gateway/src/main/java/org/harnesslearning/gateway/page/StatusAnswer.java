package org.harnesslearning.gateway.page;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the platform does now, as the API answers it. */
record StatusAnswer(
        Map<String, Long> runs,
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
