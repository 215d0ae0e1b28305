package org.harnesslearning.proposer.run;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.run.CandidateRow;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.EvaluationStore;
import org.harnesslearning.store.run.RoundRow;
import org.harnesslearning.store.run.RunKind;

/**
 * Progress in solver calls: planned = done + remaining questions × mean calls a question so far. Remaining questions
 * shrink when a candidate turns out invalid or a duplicate, so that the bar never stands at its end while work remains.
 *
 * @param done solver calls so far
 * @param planned all solver calls as expected now
 */
record Progress(long done, long planned) {
    /** Progress of a run. */
    static Progress of(
            RunContext run,
            List<RoundRow> rounds,
            List<CandidateRow> candidates,
            List<EvaluationStore.Extent> evaluations,
            long calls) {
        long answered =
                evaluations.stream().mapToLong(EvaluationStore.Extent::done).sum();
        double mean = answered == 0 ? 1 : (double) calls / answered;
        long open = evaluations.stream()
                .filter(evaluation -> evaluation.state() == EvaluationRow.State.RUNNING)
                .mapToLong(evaluation -> evaluation.questions() - evaluation.done())
                .sum();
        long remaining = open + unopened(run, rounds, candidates, evaluations);
        return new Progress(calls, calls + Math.round(remaining * mean));
    }

    /** Questions of evaluations that are planned and not opened yet. */
    private static long unopened(
            RunContext run,
            List<RoundRow> rounds,
            List<CandidateRow> candidates,
            List<EvaluationStore.Extent> evaluations) {
        RunSettings settings = run.settings();
        long dev = run.items(Split.DEV).size();
        long feedback = run.plan().report() == null ? run.items(Split.FEEDBACK).size() : 0;
        if (run.kind() == RunKind.EVALUATION) {
            int planned = settings.baseline() == null ? 1 : 2;
            return (long) Math.max(0, planned - evaluations.size())
                    * run.items(split(settings)).size();
        }
        long remaining =
                run.kind() == RunKind.ADAPTATION && evaluations.stream().noneMatch(Progress::baseline) ? dev : 0;
        boolean evaluate = settings.evaluate() == null || settings.evaluate();
        int count = settings.candidates() == null ? 0 : settings.candidates();
        int planned = settings.rounds() == null ? 1 : settings.rounds();
        Map<Integer, Long> openCandidates = new HashMap<>();
        for (CandidateRow candidate : candidates) {
            boolean opened = evaluations.stream()
                    .anyMatch(evaluation -> evaluation.role() == EvaluationRow.Role.CANDIDATE
                            && evaluation.round() == candidate.round()
                            && Integer.valueOf(candidate.candidate()).equals(evaluation.candidate()));
            if (candidate.outcome() == null && !opened) {
                openCandidates.merge(candidate.round(), 1L, Long::sum);
            }
        }
        for (int round = 1; round <= planned; round++) {
            int index = round;
            boolean opened = rounds.stream().anyMatch(row -> row.round() == index);
            boolean reported = evaluations.stream()
                    .anyMatch(evaluation ->
                            evaluation.role() == EvaluationRow.Role.INCUMBENT && evaluation.round() == index);
            boolean proposed = candidates.stream().anyMatch(candidate -> candidate.round() == index);
            boolean closed = opened && rounds.stream().anyMatch(row -> row.round() == index && row.chosen() != null);
            if (closed) {
                continue;
            }
            remaining += reported ? 0 : feedback;
            if (evaluate) {
                remaining += dev * (proposed ? openCandidates.getOrDefault(index, 0L) : count);
            }
        }
        long finalDone = evaluations.stream()
                .filter(evaluation -> evaluation.split() == Split.HELD_OUT)
                .mapToLong(EvaluationStore.Extent::questions)
                .sum();
        return remaining + Math.max(0, run.finalQuestions() - finalDone);
    }

    private static Split split(RunSettings settings) {
        return settings.split() == null ? Split.DEV : settings.split();
    }

    private static boolean baseline(EvaluationStore.Extent evaluation) {
        return evaluation.role() == EvaluationRow.Role.SEED && evaluation.split() == Split.DEV;
    }
}
