package org.harnesslearning.proposer.live;

import org.harnesslearning.store.harness.HarnessChange;
import org.harnesslearning.store.harness.HarnessVersion;

/** Is told what became live, in the transaction that made it so. */
public interface PromotionListener {
    /** A version of a name became live. */
    void changed(String name, HarnessVersion version, HarnessChange.Action action);
}
