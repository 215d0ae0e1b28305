package org.harnesslearning.proposer.prompt;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.harnesslearning.contracts.execution.HarnessError;
import org.harnesslearning.contracts.execution.ModelCall;
import org.harnesslearning.contracts.execution.PythonRun;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.ToolCall;
import org.harnesslearning.contracts.model.ChatRequest;
import org.jspecify.annotations.Nullable;

/**
 * Writes an execution report as text for the proposer, within a cap of tokens.
 *
 * <p>Failures that look alike (the same exception at the same line of the harness; the same kind of wrong answer) are told
 * once, at the first such question, with input, answer, expected answer, exception and trace; exceptions come first, then
 * answers that are nearly right, then the rest. What room is left goes to the other failing questions in short. The report
 * says what it leaves out. Equal input gives equal bytes.
 */
public final class ReportRenderer {
    /** Cap of the prompt design, in tokens of the proposer. */
    public static final int DEFAULT_MAX_TOKENS = 2000;

    /** Scores up to this are given for wrong answers by several scorers. */
    private static final double WRONG = 0.05;

    private static final String CUT = " [...] ";

    /** Kinds of failure, the most informative first; the lower-case name is that of the template's section. */
    private enum Kind {
        EXCEPTION,
        CONTAINS,
        TIMEOUT,
        CALL_BUDGET,
        OUTPUT_LIMIT,
        MEMORY,
        SANDBOX_VIOLATION,
        ERROR,
        PARTLY,
        REPEATED,
        WRONG,
        EMPTY
    }

    /** How much of one question is told, in characters of each text; the smaller ones are tried when room is short. */
    private enum Detail {
        FULL(1200, 400, 4, 400, 2),
        LESS(600, 200, 2, 160, 1),
        LEAST(300, 120, 0, 0, 0);

        final int question;
        final int answer;
        final int calls;
        final int call;
        final int programs;

        Detail(int question, int answer, int calls, int call, int programs) {
            this.question = question;
            this.answer = answer;
            this.calls = calls;
            this.call = call;
            this.programs = programs;
        }
    }

    private static final class Cluster {
        final Kind kind;
        final List<ReportEntry> entries = new ArrayList<>();

        Cluster(Kind kind) {
            this.kind = kind;
        }
    }

    private final String version;
    private final Map<String, Template> sections;

    /**
     * @param version folder of the prompt files, such as {@link PromptBuilder#CURRENT}
     * @throws IllegalArgumentException if there is no such version
     */
    public ReportRenderer(String version) {
        this.version = version;
        this.sections = Template.sections(Resources.read("/prompts/" + version + "/report.txt"));
    }

    /** Version of the template. */
    public String version() {
        return version;
    }

    /**
     * Writes the report.
     *
     * @param entries feedback questions in item order
     * @param counter tokens of the model that will read it
     * @param maxTokens cap
     * @return at most {@code maxTokens} tokens
     */
    public String render(List<ReportEntry> entries, TokenCounter counter, int maxTokens) {
        List<Cluster> clusters = clusters(entries);
        String summary = summary(entries);
        // Set aside for the line that says what is left out.
        int room = maxTokens - counter.count(summary) - 48;
        List<String> parts = new ArrayList<>();
        int shortened = 0;
        int told = 0;
        List<ReportEntry> rest = new ArrayList<>();
        for (int i = 0; i < clusters.size(); i++) {
            Cluster cluster = clusters.get(i);
            // One long failure must not crowd out the others: each may take a fair share of what is left, or of a
            // quarter.
            int share = Math.max(room / Math.max(1, Math.min(clusters.size() - i, 4)), 0);
            String written = null;
            for (Detail detail : Detail.values()) {
                String part = "\n\n" + describe(parts.size() + 1, cluster, detail);
                int cost = counter.count(part);
                if (cost <= (detail == Detail.LEAST ? room : share)) {
                    written = part;
                    room -= cost;
                    shortened += detail == Detail.FULL ? 0 : 1;
                    break;
                }
            }
            if (written == null) {
                rest.addAll(cluster.entries);
            } else {
                parts.add(written);
                told++;
                rest.addAll(cluster.entries.subList(1, cluster.entries.size()));
            }
        }
        boolean first = true;
        for (ReportEntry entry : rest) {
            String line = (first ? "\n\n" + section("more", Map.of()) : "") + "\n" + inShort(entry);
            int cost = counter.count(line);
            if (cost > room) {
                break;
            }
            parts.add(line);
            room -= cost;
            first = false;
            told++;
        }
        int failed =
                clusters.stream().mapToInt(cluster -> cluster.entries.size()).sum();
        // Counts of parts need not add up to the count of the whole: the whole is what the cap is about.
        String report = join(summary, parts, failed - told, shortened);
        while (counter.count(report) > maxTokens && !parts.isEmpty()) {
            parts.removeLast();
            told--;
            report = join(summary, parts, failed - told, shortened);
        }
        while (counter.count(report) > maxTokens && !report.isEmpty()) {
            report = report.substring(0, report.length() / 2);
        }
        return report;
    }

    private String join(String summary, List<String> parts, int untold, int shortened) {
        StringBuilder out = new StringBuilder(summary);
        parts.forEach(out::append);
        List<String> missing = new ArrayList<>();
        if (untold > 0) {
            missing.add(untold == 1 ? "1 more question that failed" : untold + " more questions that failed");
        }
        if (shortened > 0) {
            missing.add("parts of the traces");
        }
        if (!missing.isEmpty()) {
            out.append("\n\n").append(section("left_out", Map.of("what", String.join(", ", missing))));
        }
        return out.toString();
    }

    private String summary(List<ReportEntry> entries) {
        double sum = 0;
        int right = 0;
        int partly = 0;
        int failed = 0;
        for (ReportEntry entry : entries) {
            QuestionResult result = entry.result();
            sum += result.score();
            if (result.code() != QuestionCode.OK) {
                failed++;
            } else if (result.strict()) {
                right++;
            } else if (result.score() > WRONG) {
                partly++;
            }
        }
        int n = entries.size();
        return section(
                "summary",
                Map.of(
                        "mean", decimal(n == 0 ? 0 : sum / n),
                        "n", n,
                        "questions", n == 1 ? "question" : "questions",
                        "right", right,
                        "partly", partly,
                        "wrong", n - right - partly - failed,
                        "failed", failed));
    }

    private static List<Cluster> clusters(List<ReportEntry> entries) {
        Map<String, Integer> answers = new HashMap<>();
        for (ReportEntry entry : entries) {
            if (entry.result().code() == QuestionCode.OK && !entry.result().strict()) {
                answers.merge(answer(entry), 1, Integer::sum);
            }
        }
        Map<String, Cluster> bySignature = new LinkedHashMap<>();
        for (ReportEntry entry : entries) {
            QuestionResult result = entry.result();
            if (result.code() == QuestionCode.OK && result.strict()) {
                continue;
            }
            Kind kind = kind(entry, answers);
            String detail = switch (kind) {
                case EXCEPTION -> signature(result.error());
                case REPEATED -> answer(entry);
                case CALL_BUDGET -> signature(result.error());
                case CONTAINS, TIMEOUT, OUTPUT_LIMIT, MEMORY, SANDBOX_VIOLATION, ERROR, PARTLY, WRONG, EMPTY -> "";
            };
            bySignature
                    .computeIfAbsent(kind + "\n" + detail, absent -> new Cluster(kind))
                    .entries
                    .add(entry);
        }
        List<Cluster> clusters = new ArrayList<>(bySignature.values());
        // Stable: clusters that compare equal keep the order of their first questions.
        clusters.sort(Comparator.comparing((Cluster cluster) -> cluster.kind)
                .thenComparing(cluster -> -cluster.entries.size()));
        return clusters;
    }

    private static Kind kind(ReportEntry entry, Map<String, Integer> answers) {
        QuestionResult result = entry.result();
        return switch (result.code()) {
            case ERROR -> result.error() != null ? Kind.EXCEPTION : Kind.ERROR;
            case TIMEOUT -> Kind.TIMEOUT;
            case MEMORY -> Kind.MEMORY;
            case OUTPUT_LIMIT -> Kind.OUTPUT_LIMIT;
            case CALL_BUDGET -> Kind.CALL_BUDGET;
            case SANDBOX_VIOLATION -> Kind.SANDBOX_VIOLATION;
            case OK -> {
                String answer = answer(entry);
                if (answer.isEmpty()) {
                    yield Kind.EMPTY;
                }
                if (entry.expected().stream()
                        .map(ReportRenderer::normal)
                        .anyMatch(expected -> holds(answer, expected))) {
                    yield Kind.CONTAINS;
                }
                if (result.score() > WRONG) {
                    yield Kind.PARTLY;
                }
                yield answers.getOrDefault(answer, 0) > 1 ? Kind.REPEATED : Kind.WRONG;
            }
        };
    }

    /** Whether the expected answer stands in the answer as words of its own: 7 is not in 17. */
    private static boolean holds(String answer, String expected) {
        if (expected.isEmpty()) {
            return false;
        }
        for (int at = answer.indexOf(expected); at >= 0; at = answer.indexOf(expected, at + 1)) {
            int end = at + expected.length();
            if ((at == 0 || !joins(answer.charAt(at - 1), expected.charAt(0)))
                    && (end == answer.length() || !joins(expected.charAt(expected.length() - 1), answer.charAt(end)))) {
                return true;
            }
        }
        return false;
    }

    private static boolean joins(char left, char right) {
        return (Character.isLetterOrDigit(left) || left == '-') && Character.isLetterOrDigit(right);
    }

    private static String signature(@Nullable HarnessError error) {
        return error == null
                ? ""
                : error.type() + ":"
                        + (error.frames().isEmpty()
                                ? 0
                                : error.frames().getLast().line());
    }

    private static String answer(ReportEntry entry) {
        String answer = entry.result().answer();
        return answer == null ? "" : normal(answer);
    }

    private static String normal(String text) {
        return text.strip().toLowerCase(Locale.ROOT);
    }

    private String describe(int number, Cluster cluster, Detail detail) {
        ReportEntry entry = cluster.entries.getFirst();
        QuestionResult result = entry.result();
        HarnessError error = result.error();
        int count = cluster.entries.size();
        boolean tool = cluster.kind == Kind.CALL_BUDGET && error != null;
        StringBuilder out = new StringBuilder(section(
                tool ? "tool_budget" : cluster.kind.name().toLowerCase(Locale.ROOT),
                Map.of(
                        "number", number,
                        "alike", count == 1 ? "" : section("alike", Map.of("count", count)),
                        "type", error == null ? "" : error.type())));
        line(out, "Question: ", trim(entry.question(), detail.question));
        line(out, "Expected answer: ", expected(entry, detail.answer));
        if (result.answer() != null) {
            line(
                    out,
                    "Answer (score " + decimal(result.score()) + "): ",
                    result.answer().isBlank() ? "(empty)" : trim(result.answer(), detail.answer));
        }
        if (error != null) {
            line(
                    out,
                    "Exception: ",
                    error.type() + (error.message().isEmpty() ? "" : ": ") + trim(error.message(), detail.answer));
            int skipped = Math.max(0, error.frames().size() - 4);
            for (HarnessError.Frame frame :
                    error.frames().subList(skipped, error.frames().size())) {
                line(
                        out,
                        "  line " + frame.line() + ", in " + frame.function() + ": ",
                        trim(frame.text().strip(), 160));
            }
        }
        calls(out, entry, detail);
        tools(out, result, detail);
        programs(out, result, detail);
        if (detail != Detail.LEAST) {
            output(out, "Log: ", String.join("\n", result.trace().log()), detail);
            output(out, "Printed: ", result.trace().stdout(), detail);
            output(out, "Printed to stderr: ", result.trace().stderr(), detail);
        }
        return out.toString();
    }

    private static void calls(StringBuilder out, ReportEntry entry, Detail detail) {
        List<ModelCall> calls = entry.result().trace().calls();
        for (int i = 0; i < calls.size() && detail.calls > 0; i++) {
            if (calls.size() > detail.calls && i == detail.calls - 1 && i < calls.size() - 1) {
                // The last call tells more than those between.
                line(out, "", "(" + (calls.size() - detail.calls) + " calls between)");
                i = calls.size() - 1;
            }
            ModelCall call = calls.get(i);
            String reply = call.reply();
            String answer = entry.result().answer();
            StringBuilder told = new StringBuilder("prompt = ").append(prompt(call, entry.question(), detail.call));
            if (reply == null) {
                told.append("; failed: ").append(trim(call.error() == null ? "no reply" : call.error(), detail.call));
            } else if (answer != null && !answer.isBlank() && reply.strip().equals(answer.strip())) {
                told.append("; reply = the answer");
            } else {
                told.append("\nReply ").append(i + 1).append(": ").append(trim(reply.strip(), detail.call));
            }
            if ("length".equals(call.finishReason())) {
                told.append(" (cut at the length limit)");
            }
            line(out, "Call " + (i + 1) + ": ", told.toString());
        }
    }

    /** The prompt with the question in it named, not repeated. */
    private static String prompt(ModelCall call, String question, int limit) {
        StringBuilder text = new StringBuilder();
        for (ChatRequest.Message message : call.messages()) {
            if (call.messages().size() > 1) {
                text.append(text.isEmpty() ? "" : "\n").append(message.role()).append(": ");
            }
            text.append(message.content());
        }
        String prompt = text.toString().strip();
        return prompt.equals(question.strip())
                ? "the question"
                : trim(question.isBlank() ? prompt : prompt.replace(question.strip(), "<question>"), limit);
    }

    private static void tools(StringBuilder out, QuestionResult result, Detail detail) {
        List<ToolCall> calls = result.trace().toolCalls();
        for (int i = 0; i < calls.size() && detail.calls > 0; i++) {
            if (calls.size() > detail.calls && i == detail.calls - 1 && i < calls.size() - 1) {
                line(out, "", "(" + (calls.size() - detail.calls) + " tool calls between)");
                i = calls.size() - 1;
            }
            ToolCall call = calls.get(i);
            String got = call.result();
            line(
                    out,
                    "Tool call " + (i + 1) + ": ",
                    call.tool() + " " + trim(call.arguments(), detail.call)
                            + (got == null
                                    ? "; raised " + trim(call.error() == null ? "an error" : call.error(), detail.call)
                                    : " gave " + trim(got.strip(), detail.call)));
        }
    }

    private static void programs(StringBuilder out, QuestionResult result, Detail detail) {
        List<PythonRun> runs = result.trace().pythonRuns();
        int from = Math.max(0, runs.size() - detail.programs);
        for (int i = from; i < runs.size(); i++) {
            PythonRun run = runs.get(i);
            line(out, "Program " + (i + 1) + ":\n", trim(run.code().strip(), detail.call));
            if (!run.stdout().isBlank()) {
                line(out, "Its output: ", trim(run.stdout().strip(), detail.call / 2));
            }
            if (run.error() != null) {
                line(out, "Its error: ", trim(run.error().strip(), detail.call / 2));
            } else if (run.stdout().isBlank()) {
                line(out, "Its output: ", "(none)");
            }
        }
    }

    private static void output(StringBuilder out, String label, String text, Detail detail) {
        if (!text.isBlank()) {
            line(out, label, trim(text.strip(), detail.call / 2));
        }
    }

    private String inShort(ReportEntry entry) {
        QuestionResult result = entry.result();
        String answer = result.answer();
        HarnessError error = result.error();
        return "- Question: " + trim(oneLine(entry.question()), 160) + " Expected: " + oneLine(expected(entry, 80))
                + (error != null
                        ? " Exception: " + error.type()
                        : answer != null
                                ? " Answer: " + (answer.isBlank() ? "(empty)" : trim(oneLine(answer), 80))
                                : " No answer.");
    }

    private static String expected(ReportEntry entry, int limit) {
        return trim(String.join(" or ", entry.expected()), limit);
    }

    private static String oneLine(String text) {
        return text.strip().replaceAll("\\s+", " ");
    }

    private String section(String name, Map<String, ?> values) {
        Template template = sections.get(name);
        if (template == null) {
            throw new IllegalStateException("the report template has no section " + name);
        }
        return template.fill(values);
    }

    private static void line(StringBuilder out, String label, String text) {
        out.append('\n').append(label).append(text);
    }

    private static String decimal(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }

    /** Head and tail of a text that is longer than {@code limit}; never half of a surrogate pair. */
    static String trim(String text, int limit) {
        String whole = text.strip();
        if (whole.length() <= limit) {
            return whole;
        }
        int head = limit * 3 / 5;
        int tail = whole.length() - (limit - head);
        if (Character.isLowSurrogate(whole.charAt(head))) {
            head--;
        }
        if (tail < whole.length() && Character.isLowSurrogate(whole.charAt(tail))) {
            tail++;
        }
        return whole.substring(0, Math.max(head, 0)) + CUT + whole.substring(tail);
    }
}
