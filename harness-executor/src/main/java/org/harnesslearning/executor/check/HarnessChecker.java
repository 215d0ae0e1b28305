package org.harnesslearning.executor.check;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.CheckRequest;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.executor.sandbox.SandboxFaultException;
import org.harnesslearning.executor.sandbox.Sandboxes;

/**
 * Static check and smoke run of a harness, in a sandbox.
 *
 * <p>Static, nothing executed: {@code SYNTAX_ERROR} (level 3.11), {@code FORBIDDEN_CONSTRUCT} (an import of a listed
 * module in any literal form), {@code MISSING_ENTRY_POINT} (no top-level {@code def run} that takes two arguments by
 * position). Then the module is imported ({@code IMPORT_ERROR}) and {@code run} called once, with a short question and
 * the same short reply to every {@code env.llm}. That reply fits no task, so only faults that lie in the program
 * whatever the replies are count as {@code SMOKE_ERROR}: NameError and UnboundLocalError, ImportError, AttributeError
 * for a member that {@code env}, its results or the reply's text lack, TypeError for calling {@code run} or a method of
 * {@code env} with arguments that they don't take, and naming a tool that the task does not have. A ValueError, an IndexError, an attribute of None and the like pass.
 * A dry call that makes more model calls than a question may ends there and passes; one that neither ends nor calls is
 * {@code SMOKE_TIMEOUT}.
 */
public final class HarnessChecker {
    private static final int ATTEMPTS = 2;
    private static final int MAX_SOURCE = 1 << 20;

    private final Sandboxes sandboxes;
    private final ObservationRegistry observations;

    public HarnessChecker(Sandboxes sandboxes, ObservationRegistry observations) {
        this.sandboxes = sandboxes;
        this.observations = observations;
    }

    /**
     * Checks a harness.
     *
     * @throws PlatformException SANDBOX_UNAVAILABLE when no sandbox could be had, QUEUE_FULL with the seconds to wait
     */
    public CheckResult check(CheckRequest request) throws InterruptedException {
        if (request.source().length() > MAX_SOURCE) {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, "/source", "The harness is longer than 1 MiB");
        }
        OptionalInt retryAfter = sandboxes.retryAfterS(request.limits());
        if (retryAfter.isPresent()) {
            throw new PlatformException(
                    ErrorCode.QUEUE_FULL,
                    "As many checks and executions wait for a sandbox as may",
                    List.of(),
                    retryAfter.getAsInt(),
                    null);
        }
        int ownEnds = 0;
        for (int attempt = 1; ; attempt++) {
            try {
                return check(
                        request.source(), request.limits(), Objects.requireNonNullElse(request.kit(), SandboxKit.NONE));
            } catch (SandboxFaultException e) {
                if (e.ownEnd() && ++ownEnds == ATTEMPTS) {
                    return new CheckResult(OutcomeCode.SMOKE_ERROR, "The dry run ended its sandbox", null);
                }
                if (attempt == ATTEMPTS) {
                    throw new PlatformException(ErrorCode.SANDBOX_UNAVAILABLE, String.valueOf(e.getMessage()), e);
                }
            }
        }
    }

    private CheckResult check(String source, Limits limits, SandboxKit kit) throws InterruptedException {
        Observation observation =
                Observation.start("executor.check", observations).contextualName("check");
        try (Observation.Scope _ = observation.openScope()) {
            return sandboxes.check(source, limits, kit);
        } catch (SandboxFaultException | InterruptedException e) {
            observation.error(e);
            throw e;
        } finally {
            observation.stop();
        }
    }
}
