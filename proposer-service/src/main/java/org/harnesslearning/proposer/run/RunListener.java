package org.harnesslearning.proposer.run;

import org.harnesslearning.store.run.RunRow;

/** Is told that a run has ended, in the transaction that ended it. */
public interface RunListener {
    /** A run has ended. */
    void finished(RunRow run);
}
