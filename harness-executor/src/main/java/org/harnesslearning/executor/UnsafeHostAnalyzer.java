package org.harnesslearning.executor;

import org.harnesslearning.executor.sandbox.UnsafeHostException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says which protection is missing and what to do, in place of a stack trace. */
final class UnsafeHostAnalyzer extends AbstractFailureAnalyzer<UnsafeHostException> {
    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, UnsafeHostException cause) {
        return new FailureAnalysis(
                cause.getMessage(),
                "Mend the host or the Docker engine (docs/sandbox.md says what each protection needs). A gap that has to be"
                        + " lived with is accepted by its name alone in the setting executor.sandbox.accepted-gaps; it"
                        + " then shows in the health, in the metric executor.sandbox.gap and in every execution.",
                cause);
    }
}
