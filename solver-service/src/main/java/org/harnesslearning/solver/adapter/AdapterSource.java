package org.harnesslearning.solver.adapter;

import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.llm.checkpoint.LoraAdapter;

/** Finds adapters: where they are stored is nobody else's business. Thread-safe. */
interface AdapterSource {
    /**
     * Reads an adapter.
     *
     * @param reference what a load request names, such as a path
     * @throws PlatformException with {@code INVALID_FIELD} if there is none, or if it cannot be used
     */
    LoraAdapter find(String reference);
}
