package org.harnesslearning.executor.sandbox;

import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.Limits;

/** Where sandboxes come from. An implementation may keep a pool of containers that are started already. */
public interface Sandboxes {
    /**
     * A new sandbox for one job; blocks while as many containers run as may.
     *
     * @param job names the work
     * @throws SandboxFaultException when none can be started
     * @throws InterruptedException when the caller's thread is interrupted; nothing is left then
     */
    HarnessSandbox open(String job, String source, Limits limits) throws InterruptedException;

    /**
     * Static check, then import and one dry call, in a sandbox of its own.
     *
     * @throws SandboxFaultException when it failed for reasons that do not lie in the harness
     * @throws InterruptedException when the caller's thread is interrupted; nothing is left then
     */
    CheckResult check(String source, Limits limits) throws InterruptedException;
}
