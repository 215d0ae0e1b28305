package org.harnesslearning.proposer.evaluation;

import java.util.List;
import java.util.Objects;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.gate.GateCheck;
import org.harnesslearning.proposer.gate.Verdict;
import org.harnesslearning.proposer.run.RunContext;
import org.harnesslearning.proposer.run.RunStop;
import org.harnesslearning.proposer.run.RunWork;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.MeasuredQuestion;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.tasks.statistics.Gain;
import org.harnesslearning.tasks.statistics.ScoreSummary;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;

/** An evaluation: the given harness on one split, then the baseline on the same questions where there is one. */
@Component
class EvaluationWork implements RunWork {
    private final Evaluator evaluator;
    private final GateCheck gates;

    EvaluationWork(Evaluator evaluator, GateCheck gates) {
        this.evaluator = evaluator;
        this.gates = gates;
    }

    @Override
    public RunKind kind() {
        return RunKind.EVALUATION;
    }

    @Override
    public Ending work(RunContext run) {
        run.limit();
        RunSettings.HarnessSettings baseline = run.settings().baseline();
        Measurement measured = measure(run, "evaluation", EvaluationRow.Role.CANDIDATE, run.seedHarness());
        Measurement compared = baseline == null || !(measured instanceof Measurement.Done)
                ? measured
                : measure(run, "baseline", EvaluationRow.Role.SEED, baseline.hash());
        for (Measurement measurement : List.of(measured, compared)) {
            if (measurement instanceof Measurement.Failed failed) {
                throw new RunStop(RunStop.Reason.OUTAGE, failed.code() + ": " + failed.message());
            }
        }
        boolean complete = measured instanceof Measurement.Done && compared instanceof Measurement.Done;
        return new Ending(complete ? "done" : "budget", result(run, measured, baseline, compared), null);
    }

    private Measurement measure(RunContext run, String name, EvaluationRow.Role role, String harness) {
        return evaluator.measure(
                run,
                name,
                0,
                null,
                role,
                Objects.requireNonNull(run.settings().split()),
                Objects.requireNonNull(run.settings().repeat()),
                harness);
    }

    private EvaluationResult result(
            RunContext run,
            Measurement measured,
            RunSettings.@Nullable HarnessSettings baseline,
            Measurement compared) {
        double level = run.settings().confidence();
        long seed = run.settings().seed();
        Split split = Objects.requireNonNull(run.settings().split());
        Measurement.Done now = measured instanceof Measurement.Done done ? done : null;
        Measurement.Done before = baseline != null && compared instanceof Measurement.Done done ? done : null;
        Gain gain = now == null || before == null ? null : Gain.paired(before.scores(), now.scores(), level, seed);
        Verdict verdict = gates.judge(
                run,
                List.of(new GateCheck.Pair(split, questions(before), questions(now))),
                gain,
                now == null ? null : now.mean());
        return new EvaluationResult(
                baseline == null
                        ? null
                        : new EvaluationResult.Baseline(
                                baseline.hash(),
                                before == null ? null : ScoreSummary.of(before.scores(), before.strict(), level, seed)),
                gain,
                verdict.gate(),
                verdict.reasons(),
                verdict.flips(),
                verdict.regression());
    }

    private static List<MeasuredQuestion> questions(Measurement.@Nullable Done done) {
        return done == null
                ? List.of()
                : done.results().stream().map(MeasuredQuestion::of).toList();
    }
}
