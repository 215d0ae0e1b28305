package org.harnesslearning.executor.sandbox;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.execution.HarnessError;
import org.harnesslearning.contracts.execution.PythonRun;
import org.harnesslearning.contracts.execution.SandboxTool;
import org.harnesslearning.contracts.model.ChatRequest;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Frames between the executor and the runner in a container. */
final class RunnerFrames {
    private RunnerFrames() {}

    /** Version of these frames, which a runner's first one names. */
    static final int PROTOCOL = 3;

    /** Limits that the runner keeps for each question. */
    record RunnerLimits(
            int outputBytes, int captureBytes, int channelBytes, int answerChars, int logEntries, int pythonChars) {
        static RunnerLimits of(SandboxSettings settings) {
            return new RunnerLimits(
                    settings.outputBytes(),
                    settings.captureBytes(),
                    settings.channelBytes(),
                    settings.answerChars(),
                    200,
                    settings.captureBytes() / 2);
        }
    }

    /** What the executor sends; the name of the form is the field {@code type}. */
    sealed interface ToRunner {
        @JsonProperty("type")
        String type();
    }

    /** Asks a runner that has no work yet for a sign of health. */
    record Ping(String nonce) implements ToRunner {
        @Override
        public String type() {
            return "ping";
        }
    }

    /** The harness; only compiled. */
    record Program(String source, RunnerLimits limits) implements ToRunner {
        @Override
        public String type() {
            return "program";
        }
    }

    /** One question for a forked child. */
    record Question(String nonce, String question, int wallClockS) implements ToRunner {
        @Override
        public String type() {
            return "question";
        }
    }

    /** Answer of a brokered call. */
    record Reply(String nonce, int call, String text) implements ToRunner {
        @Override
        public String type() {
            return "reply";
        }
    }

    /** A brokered call that raises inside the harness. */
    record Raise(String nonce, int call, String message) implements ToRunner {
        @Override
        public String type() {
            return "raise";
        }
    }

    /** Result of a tool; the text is JSON or the result itself. */
    record ToolResult(String nonce, int call, String text, boolean json) implements ToRunner {
        @Override
        public String type() {
            return "reply";
        }
    }

    /** A call of a tool that raises inside the harness. */
    record ToolRaise(
            String nonce,
            int call,
            String message,
            String kind,
            @Nullable Integer status) implements ToRunner {
        @Override
        public String type() {
            return "raise";
        }
    }

    /** Ends the question. */
    record Abort(String nonce) implements ToRunner {
        @Override
        public String type() {
            return "abort";
        }
    }

    /** Static check and smoke run. */
    record Check(
            String source,
            RunnerLimits limits,
            List<String> forbiddenImports,
            long staticTimeoutS,
            long smokeTimeoutS,
            String question,
            Canned canned,
            Map<String, SandboxTool.Answer> tools)
            implements ToRunner {
        @Override
        public String type() {
            return "check";
        }

        /** Replies of the dry call: the text, and after how many calls it ends. */
        record Canned(String reply, int calls) {}
    }

    /**
     * Asks for what a child finds out about its sandbox.
     *
     * @param what {@code facts}, {@code processes} or {@code memory}
     * @param count most processes, or bytes of memory
     */
    record Probe(RunnerLimits limits, String what, int timeoutS, long count) implements ToRunner {
        @Override
        public String type() {
            return "probe";
        }
    }

    /** Answer to {@link Probe}; the outcome is that of a question. */
    record Probed(String type, String outcome, @Nullable JsonNode facts) {}

    /** Answer to {@link Program}; the error of the compiler, or null. */
    record Compiled(String type, @Nullable HarnessError error) {}

    /** A brokered call. */
    record Llm(
            String type,
            String nonce,
            int call,
            List<ChatRequest.Message> messages,
            @Nullable Integer maxTokens,
            @Nullable Double temperature,
            @Nullable List<String> stop) {}

    /** A call of a tool; the arguments are a JSON object. */
    record ToolCall(String type, String nonce, int call, String name, JsonNode args) {}

    /** End of a question. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    record Final(
            String type,
            String nonce,
            String outcome,
            @Nullable String answer,
            @Nullable HarnessError error,
            boolean clean,
            String stdout,
            String stderr,
            List<String> log,
            List<PythonRun> pythonRuns) {
        SandboxResult.Output output() {
            return new SandboxResult.Output(stdout, stderr, log, pythonRuns);
        }
    }

    /** Answer to {@link Check}; no code when the harness passed. */
    record Checked(
            String type,
            @Nullable String code,
            @Nullable String message,
            @Nullable Integer line) {}
}
