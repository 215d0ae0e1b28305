package org.harnesslearning.proposer.revision;

import org.harnesslearning.proposer.run.RunContext;
import org.harnesslearning.proposer.run.RunStop;
import org.harnesslearning.proposer.run.RunWork;
import org.harnesslearning.store.run.RunKind;
import org.springframework.stereotype.Component;

/** A revision: one round on the given harness, without selection. */
@Component
class RevisionWork implements RunWork {
    private static final int ROUND = 1;

    private final RoundRunner rounds;

    RevisionWork(RoundRunner rounds) {
        this.rounds = rounds;
    }

    @Override
    public RunKind kind() {
        return RunKind.REVISION;
    }

    @Override
    public Ending work(RunContext run) {
        run.limit();
        try {
            rounds.run(run, ROUND, run.seedHarness());
            return new Ending("rounds_done", null, null);
        } catch (RunStop stop) {
            if (stop.reason() != RunStop.Reason.BUDGET) {
                throw stop;
            }
            rounds.cutOff(run, ROUND, stop.why());
            return new Ending("budget", null, null);
        }
    }

    @Override
    public void cancelled(RunContext run, String why) {
        rounds.cutOff(run, ROUND, why);
    }
}
