package org.harnesslearning.executor;

import org.harnesslearning.executor.sandbox.DockerUnavailableException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says what to do, in place of a stack trace, when the executor can't start for want of Docker. */
final class DockerUnavailableAnalyzer extends AbstractFailureAnalyzer<DockerUnavailableException> {
    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, DockerUnavailableException cause) {
        return new FailureAnalysis(cause.getMessage(), null, cause);
    }
}
