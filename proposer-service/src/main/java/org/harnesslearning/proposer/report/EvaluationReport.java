package org.harnesslearning.proposer.report;

import java.util.List;
import org.harnesslearning.tasks.statistics.Interval;
import org.jspecify.annotations.Nullable;

/**
 * What a finished evaluation tells.
 *
 * @param headline one honest sentence
 * @param recorded whether replies came from a file; such an evaluation passes no gate
 * @param score null where nothing was measured
 * @param sandboxGaps names of protections that a host of its sandboxes lacked and the settings accepted; empty on sound hosts
 * @param baseline score of the harness it is compared with, null without one
 */
record EvaluationReport(
        String id,
        String task,
        String state,
        @Nullable String stopReason,
        @Nullable String message,
        String headline,
        boolean recorded,
        String split,
        String harness,
        RunReport.@Nullable Column score,
        RunReport.@Nullable Column baseline,
        @Nullable Double gain,
        @Nullable Interval gainCi,
        String gate,
        List<String> gateReasons,
        List<QuestionGroup> groups,
        RunReport.UsageByRole usage,
        List<String> sandboxGaps) {
    EvaluationReport {
        gateReasons = List.copyOf(gateReasons);
        groups = List.copyOf(groups);
        sandboxGaps = List.copyOf(sandboxGaps);
    }
}
