package org.harnesslearning.proposer.report;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.proposer.gate.Verdict;
import org.harnesslearning.store.execution.ToolCalls;
import org.harnesslearning.tasks.statistics.Interval;
import org.jspecify.annotations.Nullable;

/**
 * What a finished run tells. The gain on the dev questions, on which candidates were selected, is transductive and stands
 * apart from the held-out one.
 *
 * @param headline one honest sentence
 * @param improved whether the held-out gain's lower bound is above 0
 * @param recorded whether replies came from a file; such a run passes no gate
 * @param roundsDone rounds that ended in a selection
 * @param transductive dev scores; selection saw these questions
 * @param heldOut held-out scores; measured once at the end
 * @param gateReasons why the gate failed, one sentence each
 * @param groups dev and held-out questions by group, with those that went from right to wrong
 * @param sandboxGaps names of protections that a host of its sandboxes lacked and the settings accepted; empty on sound hosts
 * @param noise mean absolute difference of the starting harness to itself, null where not measured
 */
record RunReport(
        String id,
        String task,
        String state,
        @Nullable String stopReason,
        @Nullable String message,
        String headline,
        boolean improved,
        boolean recorded,
        int roundsDone,
        int roundsPlanned,
        String replyForm,
        String demonstrations,
        Table transductive,
        Table heldOut,
        @Nullable Double noise,
        String gate,
        List<String> gateReasons,
        List<QuestionGroup> groups,
        Verdict.@Nullable Regression regression,
        Map<String, Long> outcomes,
        Map<String, Integer> byCode,
        List<Candidate> candidates,
        List<Accepted> accepted,
        UsageByRole usage,
        @Nullable String lineageHash,
        List<String> sandboxGaps) {
    /** Scores by column and the gain of result over seed. */
    record Table(
            List<Column> columns,
            @Nullable Double gain,
            @Nullable Interval gainCi) {
        Table {
            columns = List.copyOf(columns);
        }
    }

    /** One harness's score. */
    record Column(
            String name,
            double mean,
            @Nullable Interval ci,
            double strict,
            @Nullable Interval strictCi,
            int n) {}

    /** One candidate's outcome. */
    record Candidate(
            String place,
            String outcome,
            @Nullable String code,
            @Nullable String message,
            @Nullable String duplicateOf,
            @Nullable Double mean) {}

    /**
     * An edit that was selected.
     *
     * @param similarity of the edited harness to its demonstration's, 0 to 1; null without a demonstration
     */
    record Accepted(
            int round,
            int candidate,
            String harness,
            @Nullable Double devMean,
            @Nullable String demonstration,
            @Nullable Double similarity,
            @Nullable String diff) {}

    /** Calls and tokens, of tools where the task has some; repeated ones were made twice because of a kill. */
    record UsageByRole(
            Usage proposer,
            Usage solver,
            @JsonInclude(JsonInclude.Include.NON_NULL) ToolCalls.@Nullable Spent tools,
            long repeated,
            @Nullable Double cost,
            long wallClockMs) {}

    RunReport {
        gateReasons = List.copyOf(gateReasons);
        groups = List.copyOf(groups);
        candidates = List.copyOf(candidates);
        accepted = List.copyOf(accepted);
        sandboxGaps = List.copyOf(sandboxGaps);
    }
}
