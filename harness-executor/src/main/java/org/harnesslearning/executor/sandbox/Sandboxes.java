package org.harnesslearning.executor.sandbox;

import java.util.List;
import java.util.OptionalInt;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.SandboxKit;

/** Where sandboxes come from. */
public interface Sandboxes {
    /**
     * A new sandbox for one job; waits for its turn while as many run as may.
     *
     * @param job names the work
     * @param kit whose image it starts from
     * @throws SandboxFaultException when none can be started
     * @throws InterruptedException when the caller's thread is interrupted; nothing is left then
     */
    HarnessSandbox open(String job, String source, Limits limits, SandboxKit kit) throws InterruptedException;

    /** A new sandbox of the platform's own image. */
    default HarnessSandbox open(String job, String source, Limits limits) throws InterruptedException {
        return open(job, source, limits, SandboxKit.NONE);
    }

    /**
     * Static check, then import and one dry call, in a sandbox of its own.
     *
     * @param kit its image, and the tools that a dry call may name
     * @throws SandboxFaultException when it failed for reasons that do not lie in the harness
     * @throws InterruptedException when the caller's thread is interrupted; nothing is left then
     */
    CheckResult check(String source, Limits limits, SandboxKit kit) throws InterruptedException;

    /** A check in the platform's own image, without tools. */
    default CheckResult check(String source, Limits limits) throws InterruptedException {
        return check(source, limits, SandboxKit.NONE);
    }

    /**
     * Whether a new job with these limits should be refused now.
     *
     * @return after how many seconds to try again; empty when the job may come, at once or after a wait for its turn
     */
    OptionalInt retryAfterS(Limits limits);

    /** Names of protections that this host lacks and the settings accept; every execution carries them. */
    List<String> gaps();
}
