package org.harnesslearning.proposer.evaluation;

import java.util.Objects;
import org.harnesslearning.proposer.run.RunContext;
import org.harnesslearning.proposer.run.RunStop;
import org.harnesslearning.proposer.run.RunWork;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.RunKind;
import org.springframework.stereotype.Component;

/** An evaluation: the given harness on one split. */
@Component
class EvaluationWork implements RunWork {
    private final Evaluator evaluator;

    EvaluationWork(Evaluator evaluator) {
        this.evaluator = evaluator;
    }

    @Override
    public RunKind kind() {
        return RunKind.EVALUATION;
    }

    @Override
    public Ending work(RunContext run) {
        run.limit();
        Measurement measurement = evaluator.measure(
                run,
                "evaluation",
                0,
                null,
                EvaluationRow.Role.CANDIDATE,
                Objects.requireNonNull(run.settings().split()),
                Objects.requireNonNull(run.settings().repeat()),
                run.seedHarness());
        return switch (measurement) {
            case Measurement.Done done -> new Ending("done", null, null);
            case Measurement.CutOff cutOff -> new Ending("budget", null, null);
            case Measurement.Failed failed ->
                throw new RunStop(RunStop.Reason.OUTAGE, failed.code() + ": " + failed.message());
        };
    }
}
