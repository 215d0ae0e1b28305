package org.harnesslearning.executor.execution;

import org.harnesslearning.contracts.execution.GenerateRequest;
import org.harnesslearning.contracts.execution.GenerateResponse;

/** Generates the items of a task family. */
@FunctionalInterface
public interface ItemGenerator {
    /** As {@link org.harnesslearning.contracts.execution.ExecutorApi#generate}. */
    GenerateResponse generate(GenerateRequest request);
}
