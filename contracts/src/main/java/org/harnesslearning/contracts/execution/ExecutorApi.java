package org.harnesslearning.contracts.execution;

import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.service.annotation.GetExchange;
import org.springframework.web.service.annotation.HttpExchange;
import org.springframework.web.service.annotation.PostExchange;

/** harness-executor, as proposer-service calls it. */
@HttpExchange("/internal")
public interface ExecutorApi {
    /**
     * Starts an execution or attaches to it, and waits for its end.
     *
     * @param waitS most seconds to wait; then the state is {@code running} with the results so far. Ask again with the
     *     same request: after a restart of the executor that resumes the work
     */
    @PostExchange("/executions")
    ExecutionStatus execute(@RequestBody ExecutionRequest request, @RequestParam("wait_s") int waitS);

    /** Stops an execution; finished questions stay stored. Unknown ids are ignored. */
    @PostExchange("/executions/cancel")
    void cancel(@RequestParam("id") String id);

    /** Images and tools that tasks may name. */
    @GetExchange("/sandboxes")
    SandboxOffer offer();

    /** Static check and smoke run. */
    @PostExchange("/checks")
    CheckResult check(@RequestBody CheckRequest request);

    /**
     * Items of a Reasoning Gym family.
     *
     * @throws org.harnesslearning.contracts.error.PlatformException UNKNOWN_FAMILY; INVALID_FIELD for a configuration
     *     that the family refuses
     */
    @PostExchange("/items")
    GenerateResponse generate(@RequestBody GenerateRequest request);
}
