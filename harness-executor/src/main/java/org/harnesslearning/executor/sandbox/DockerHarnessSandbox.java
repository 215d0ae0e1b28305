package org.harnesslearning.executor.sandbox;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import org.harnesslearning.contracts.execution.HarnessError;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.trace.WorkContext;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/**
 * One harness in one container. The runner inside keeps a question's clock; this side keeps the same clock with a grace
 * added, for a runner that does not, and the deadline that covers model calls too.
 *
 * <p>Only frames of the runner arrive here, and a final frame counts only with the nonce of the question being asked.
 */
final class DockerHarnessSandbox implements HarnessSandbox {
    private final SandboxContainer container;
    private final SandboxSettings settings;
    private final Limits limits;
    private final ExecutorService calls;
    private final Runnable onClose;
    private final @Nullable HarnessError compileError;
    private boolean usable = true;

    private DockerHarnessSandbox(
            SandboxContainer container,
            SandboxSettings settings,
            Limits limits,
            ExecutorService calls,
            Runnable onClose,
            @Nullable HarnessError compileError) {
        this.container = container;
        this.settings = settings;
        this.limits = limits;
        this.calls = calls;
        this.onClose = onClose;
        this.compileError = compileError;
    }

    /**
     * Gives the harness to a fresh container.
     *
     * @param calls runs brokered calls, so that a deadline can end the wait for one
     * @param onClose called once when the sandbox is closed
     * @throws SandboxFaultException when the container does not take it; the caller still owns the container then
     */
    static DockerHarnessSandbox load(
            SandboxContainer container,
            String source,
            SandboxSettings settings,
            Limits limits,
            ExecutorService calls,
            Runnable onClose)
            throws InterruptedException {
        container.send(new RunnerFrames.Program(source, RunnerFrames.RunnerLimits.of(settings)));
        return switch (container.receive(settings.startTimeout())) {
            case Received.Frame(JsonNode body) ->
                new DockerHarnessSandbox(
                        container,
                        settings,
                        limits,
                        calls,
                        onClose,
                        read(body, RunnerFrames.Compiled.class).error());
            case Received.Nothing nothing -> {
                container.end(); // an engine that can't tell of it is at fault itself
                throw new SandboxFaultException("The runner does not answer to the harness", null, true);
            }
            case Received.Closed closed -> {
                SandboxContainer.End end = container.end();
                if (end.memoryKill()) {
                    // A source that exhausts the compiler is the harness's fault.
                    yield new DockerHarnessSandbox(
                            container,
                            settings,
                            limits,
                            calls,
                            onClose,
                            new HarnessError("MemoryError", "compiling the harness ran out of memory", List.of()));
                }
                throw new SandboxFaultException(
                        closed.reason() + ". " + container.stderr(), null, closed.broken() || !end.ranOn());
            }
        };
    }

    @Override
    public SandboxResult ask(String question, Broker broker) throws InterruptedException {
        if (compileError != null) {
            return new SandboxResult.Crashed(compileError, false, SandboxResult.Output.EMPTY);
        }
        if (!usable) {
            throw new IllegalStateException("this sandbox takes no more questions");
        }
        usable = false; // until the runner says that the question is over and cleared away
        try {
            return new Asking(question, broker).run();
        } catch (JacksonException e) {
            return new SandboxResult.SandboxFault("The runner broke the protocol: " + e.getOriginalMessage(), false);
        }
    }

    @Override
    public boolean usable() {
        return usable;
    }

    @Override
    public void close() {
        usable = false;
        container.close();
        onClose.run();
    }

    private static <T> T read(JsonNode body, Class<T> type) {
        return Json.mapper().treeToValue(body, type);
    }

    /** One question from its frame to its end. */
    private final class Asking {
        private final String nonce = UUID.randomUUID().toString();
        private final String question;
        private final Broker broker;
        private final long deadline;
        private long clockLeft;

        /** Set when this side has ended the question; the runner's final frame then only reports. */
        private @Nullable RuntimeException stopped;

        Asking(String question, Broker broker) {
            this.question = question;
            this.broker = broker;
            Duration clock = Duration.ofSeconds(limits.questionWallClockS());
            this.clockLeft = clock.plus(settings.clockGrace()).toNanos();
            this.deadline = System.nanoTime()
                    + clock.multipliedBy(settings.deadlineFactor())
                            .plus(settings.clockGrace())
                            .toNanos();
        }

        SandboxResult run() throws InterruptedException {
            container.send(new RunnerFrames.Question(nonce, question, limits.questionWallClockS()));
            while (true) {
                long start = System.nanoTime();
                long most = isDue() ? clockLeft : Math.min(clockLeft, deadline - start);
                Received received = container.receive(Duration.ofNanos(most));
                clockLeft -= System.nanoTime() - start;
                switch (received) {
                    case Received.Nothing nothing -> {
                        SandboxResult result = isDue() ? silent() : late();
                        container.close();
                        return passOn(result);
                    }
                    case Received.Closed closed -> {
                        return passOn(died(closed));
                    }
                    case Received.Frame(JsonNode body) -> {
                        switch (body.path("type").asString("")) {
                            case "llm" -> serve(read(body, RunnerFrames.Llm.class));
                            case "tool" -> serve(read(body, RunnerFrames.ToolCall.class));
                            case "final" -> {
                                RunnerFrames.Final end = read(body, RunnerFrames.Final.class);
                                if (end.nonce().equals(nonce)) {
                                    usable = end.clean();
                                    return passOn(result(end));
                                }
                            }
                            default -> {
                                return new SandboxResult.SandboxFault("The runner sent an unknown frame", false);
                            }
                        }
                    }
                }
            }
        }

        /** The result, unless the question was ended by something that whoever asked must see. */
        private SandboxResult passOn(SandboxResult result) {
            RuntimeException reason = stopped;
            if (reason == null) {
                return result;
            }
            if (reason instanceof Broker.CallBudgetException budget) {
                HarnessError error = budget.tool()
                        ? new HarnessError("CallBudget", String.valueOf(budget.getMessage()), List.of())
                        : null;
                return new SandboxResult.BudgetExceeded(output(result), error);
            }
            throw reason;
        }

        /** Whether the runner should have told the end of the question's clock by now. */
        private boolean isDue() {
            return clockLeft <= settings.clockGrace().toNanos();
        }

        /** The deadline passed, and no call was pending: the harness itself took that long. */
        private static SandboxResult late() {
            return new SandboxResult.TimedOut(SandboxResult.Output.EMPTY);
        }

        /**
         * Not even the end of the question's clock was told. Where the engine stalls that is no time-out of the harness; where
         * it is well, something in the container holds the runner up, and when it does so again the harness is at fault.
         */
        private SandboxResult silent() {
            return ended("The container said nothing for longer than the question's clock", end -> true);
        }

        private SandboxResult died(Received.Closed closed) {
            // A container whose connection was cut from outside runs on; that is nothing the harness did.
            return ended(closed.reason(), end -> closed.broken() || !end.ranOn());
        }

        private SandboxResult ended(String reason, Predicate<SandboxContainer.End> own) {
            SandboxContainer.End end;
            try {
                end = container.end();
            } catch (SandboxFaultException e) {
                return new SandboxResult.SandboxFault(reason + ". " + e.getMessage(), false);
            }
            if (end.memoryKill()) {
                return new SandboxResult.OutOfMemory(SandboxResult.Output.EMPTY);
            }
            return new SandboxResult.SandboxFault(
                    reason + " (exit code " + end.exitCode() + "). " + container.stderr(), own.test(end));
        }

        private void serve(RunnerFrames.Llm call) throws InterruptedException {
            if (stopped != null || !call.nonce().equals(nonce)) {
                return;
            }
            Broker.Request request =
                    new Broker.Request(call.messages(), call.maxTokens(), call.temperature(), call.stop());
            Broker.Answer answer = wait(() -> broker.call(request), false);
            switch (answer) {
                case Broker.Answer.Reply(String text) ->
                    container.send(new RunnerFrames.Reply(nonce, call.call(), text));
                case Broker.Answer.Refused(String message) ->
                    container.send(new RunnerFrames.Raise(nonce, call.call(), message));
                case null -> {}
            }
        }

        private void serve(RunnerFrames.ToolCall call) throws InterruptedException {
            if (stopped != null || !call.nonce().equals(nonce)) {
                return;
            }
            Broker.ToolAnswer answer = wait(() -> broker.tool(new Broker.ToolRequest(call.name(), call.args())), true);
            switch (answer) {
                case Broker.ToolAnswer.Result(String text, boolean json) ->
                    container.send(new RunnerFrames.ToolResult(nonce, call.call(), text, json));
                case Broker.ToolAnswer.Failed(String kind, Integer status, String message) ->
                    container.send(new RunnerFrames.ToolRaise(nonce, call.call(), message, kind, status));
                case null -> {}
            }
        }

        /** What a brokered call gives; null when it has ended the question instead. */
        private <T> @Nullable T wait(Callable<T> call, boolean tool) throws InterruptedException {
            Future<T> pending = calls.submit(WorkContext.current().wrap(call));
            try {
                return pending.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                stop(new Broker.PendingCallException(
                        "The question's deadline passed while a call of " + (tool ? "a tool" : "the model")
                                + " was pending",
                        tool));
                return null;
            } catch (ExecutionException e) {
                Throwable cause = Objects.requireNonNull(e.getCause());
                stop(cause instanceof RuntimeException known ? known : new IllegalStateException(cause));
                return null;
            } finally {
                pending.cancel(true);
            }
        }

        private void stop(RuntimeException reason) {
            stopped = reason;
            container.send(new RunnerFrames.Abort(nonce));
            // Killing the question's processes is all that is left to do.
            clockLeft = settings.clockGrace().toNanos();
        }

        private SandboxResult result(RunnerFrames.Final end) {
            SandboxResult.Output output = end.output();
            return switch (end.outcome()) {
                case "completed" -> new SandboxResult.Completed(Objects.requireNonNullElse(end.answer(), ""), output);
                case "timed_out" -> new SandboxResult.TimedOut(output);
                case "out_of_memory" -> new SandboxResult.OutOfMemory(output);
                case "output_limit" -> new SandboxResult.OutputLimit(output);
                case "crashed" -> new SandboxResult.Crashed(end.error(), false, output);
                case "violation" -> new SandboxResult.Crashed(null, true, output);
                case "aborted" -> new SandboxResult.Crashed(null, false, output);
                default ->
                    new SandboxResult.SandboxFault("The runner sent the unknown outcome " + end.outcome(), false);
            };
        }

        private static SandboxResult.Output output(SandboxResult result) {
            return switch (result) {
                case SandboxResult.Completed completed -> completed.output();
                case SandboxResult.TimedOut timedOut -> timedOut.output();
                case SandboxResult.OutOfMemory outOfMemory -> outOfMemory.output();
                case SandboxResult.OutputLimit outputLimit -> outputLimit.output();
                case SandboxResult.BudgetExceeded exceeded -> exceeded.output();
                case SandboxResult.Crashed crashed -> crashed.output();
                case SandboxResult.SandboxFault fault -> SandboxResult.Output.EMPTY;
            };
        }
    }
}
