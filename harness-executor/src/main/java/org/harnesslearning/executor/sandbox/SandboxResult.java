package org.harnesslearning.executor.sandbox;

import java.util.List;
import org.harnesslearning.contracts.execution.HarnessError;
import org.harnesslearning.contracts.execution.PythonRun;
import org.jspecify.annotations.Nullable;

/** How one question ended in its sandbox. All forms but {@link SandboxFault} are results of the harness. */
public sealed interface SandboxResult {
    /** What the harness wrote and ran; empty when the container died with the question. */
    record Output(String stdout, String stderr, List<String> log, List<PythonRun> pythonRuns) {
        /** Nothing. */
        public static final Output EMPTY = new Output("", "", List.of(), List.of());

        public Output {
            log = List.copyOf(log);
            pythonRuns = List.copyOf(pythonRuns);
        }
    }

    /** {@code run} returned text. */
    record Completed(String answer, Output output) implements SandboxResult {}

    /** The question's clock ran out. */
    record TimedOut(Output output) implements SandboxResult {}

    /** The kernel killed a process of the question for memory, or Python ran out of it. */
    record OutOfMemory(Output output) implements SandboxResult {}

    /** More output, answer or messages than allowed. */
    record OutputLimit(Output output) implements SandboxResult {}

    /**
     * More calls than a question may make.
     *
     * @param error says which where they were calls of a tool; null where they were the model's
     */
    record BudgetExceeded(Output output, @Nullable HarnessError error) implements SandboxResult {}

    /**
     * The harness raised, returned no text, or ended its process.
     *
     * @param violation it attacked the platform's channel or runner
     */
    record Crashed(@Nullable HarnessError error, boolean violation, Output output) implements SandboxResult {}

    /**
     * The sandbox failed: never a score.
     *
     * @param ownEnd the container ended by itself while the engine was well; when that happens again with the same
     *     question, the harness is at fault
     */
    record SandboxFault(String message, boolean ownEnd) implements SandboxResult {}
}
