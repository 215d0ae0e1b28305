package org.harnesslearning.executor;

import java.time.Duration;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.CheckRequest;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.ExecutionRequest;
import org.harnesslearning.contracts.execution.ExecutionStatus;
import org.harnesslearning.contracts.execution.ExecutorApi;
import org.harnesslearning.contracts.execution.GenerateRequest;
import org.harnesslearning.contracts.execution.GenerateResponse;
import org.harnesslearning.contracts.execution.SandboxOffer;
import org.harnesslearning.executor.check.HarnessChecker;
import org.harnesslearning.executor.execution.Executions;
import org.harnesslearning.executor.execution.ItemGenerator;
import org.harnesslearning.executor.kit.Kits;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.web.bind.annotation.RestController;

@RestController
final class ExecutorController implements ExecutorApi {
    private final Kits kits;
    private final Executions executions;
    private final HarnessChecker checker;
    private final ObjectProvider<ItemGenerator> generator;

    ExecutorController(
            Kits kits, Executions executions, HarnessChecker checker, ObjectProvider<ItemGenerator> generator) {
        this.kits = kits;
        this.executions = executions;
        this.checker = checker;
        this.generator = generator;
    }

    @Override
    public ExecutionStatus execute(ExecutionRequest request, int waitS) {
        kits.check(request.kit());
        try {
            return executions.execute(request, Duration.ofSeconds(waitS));
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    @Override
    public void cancel(String id) {
        executions.cancel(id);
    }

    @Override
    public CheckResult check(CheckRequest request) {
        kits.check(request.kit());
        try {
            return checker.check(request);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    @Override
    public SandboxOffer offer() {
        return kits.offer();
    }

    @Override
    public GenerateResponse generate(GenerateRequest request) {
        ItemGenerator present = generator.getIfAvailable();
        if (present == null) {
            throw new PlatformException(ErrorCode.UNKNOWN_FAMILY, "This executor generates no items");
        }
        return present.generate(request);
    }

    private static PlatformException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return new PlatformException(ErrorCode.DRAINING, "The executor is shutting down", e);
    }
}
