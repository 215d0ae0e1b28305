package org.harnesslearning.proposer.prompt;

import java.util.List;
import org.harnesslearning.contracts.execution.QuestionResult;

/**
 * One feedback question with what the harness made of it. Only questions of the feedback split may become entries.
 *
 * @param question its text
 * @param expected accepted answers
 * @param result what happened
 */
public record ReportEntry(String question, List<String> expected, QuestionResult result) {
    public ReportEntry {
        expected = List.copyOf(expected);
    }
}
