package org.harnesslearning.proposer.prompt;

import java.util.List;
import org.harnesslearning.contracts.execution.HarnessError;
import org.harnesslearning.contracts.execution.ModelCall;
import org.harnesslearning.contracts.execution.PythonRun;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.ToolCall;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.model.ChatRequest;
import org.jspecify.annotations.Nullable;

/** Results as an executor would give them. */
final class Reports {
    static final Usage USAGE = new Usage(3, 918273, 645546, 777111);

    private Reports() {}

    static ReportEntry answered(String question, String expected, double score, String answer, ModelCall... calls) {
        return entry(question, expected, QuestionCode.OK, score, answer, null, trace(calls));
    }

    static ReportEntry failed(String question, String expected, QuestionCode code, @Nullable HarnessError error) {
        return entry(question, expected, code, 0, null, error, QuestionResult.Trace.EMPTY);
    }

    static ReportEntry entry(
            String question,
            String expected,
            QuestionCode code,
            double score,
            @Nullable String answer,
            @Nullable HarnessError error,
            QuestionResult.Trace trace) {
        return new ReportEntry(
                question,
                List.of(expected),
                new QuestionResult(Hashes.item(question), 0, code, score, score == 1.0, answer, error, trace, USAGE));
    }

    static QuestionResult.Trace trace(ModelCall... calls) {
        return new QuestionResult.Trace("", "", List.of(), List.of(calls), List.of());
    }

    static QuestionResult.Trace trace(List<ModelCall> calls, List<PythonRun> runs) {
        return new QuestionResult.Trace("", "", List.of(), calls, runs);
    }

    static ModelCall call(String prompt, String reply) {
        return new ModelCall(
                List.of(new ChatRequest.Message("user", prompt)), reply, "stop", null, 918273, 645546, 777111);
    }

    static HarnessError error(String type, String message, int line) {
        return new HarnessError(
                type,
                message,
                List.of(
                        new HarnessError.Frame(4, "run", "return parse(env.llm(question))"),
                        new HarnessError.Frame(line, "parse", "return int(reply)")));
    }

    /** Questions whose harness called tools. */
    static List<ReportEntry> withTools() {
        ToolCall found = new ToolCall("prices", "{\"article\":\"lamp\"}", "{\"cents\":1990}", null, 200, 12);
        ToolCall refused = new ToolCall(
                "prices",
                "{\"article\":\"lamps\"}",
                null,
                "http: the tool prices answered with status 404: no article lamps",
                404,
                12);
        return List.of(
                entry("What do 2 lamps cost?", "39.80", QuestionCode.OK, 0, "unknown", null, tools(found, refused)),
                entry(
                        "What do 9 lamps cost?",
                        "179.10",
                        QuestionCode.CALL_BUDGET,
                        0,
                        null,
                        new HarnessError("CallBudget", "more than 5 calls of the tool prices", List.of()),
                        tools(found, found, found, found, found)));
    }

    private static QuestionResult.Trace tools(ToolCall... calls) {
        return new QuestionResult.Trace("", "", List.of(), List.of(), List.of(), List.of(calls));
    }

    static List<ReportEntry> mixed() {
        return List.of(
                answered("What is 2 + 2?", "4", 1, "4", call("What is 2 + 2?", "4")),
                answered(
                        "What is 7 + 8?",
                        "15",
                        0.1,
                        "The sum is 15, I think.",
                        call("What is 7 + 8?", "The sum is 15, I think.")),
                failed("What is 1 + 1?", "2", QuestionCode.ERROR, error("ValueError", "invalid literal: 'two'", 9)),
                answered("What is 9 + 9?", "18", 0, "17", call("Think.\nWhat is 9 + 9?\nBe short.", "It is 17.")),
                failed("What is 3 + 1?", "4", QuestionCode.ERROR, error("ValueError", "invalid literal: 'four'", 9)),
                failed("What is 3 + 2?", "5", QuestionCode.ERROR, error("KeyError", "'x'", 12)),
                failed("What is 5 + 5?", "10", QuestionCode.TIMEOUT, null),
                answered("What is 6 + 5?", "11", 0, "I cannot say."),
                answered("What is 6 + 6?", "12", 0, "I cannot say."),
                answered("What is 6 + 7?", "13", 0, " "),
                entry(
                        "What is 8 + 8?",
                        "16",
                        QuestionCode.OK,
                        0,
                        "88",
                        null,
                        trace(
                                List.of(call("Write a program: What is 8 + 8?", "```python\nprint('88')\n```")),
                                List.of(new PythonRun("print('88')", "88\n", "", null)))));
    }
}
