package org.harnesslearning.proposer.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.harnesslearning.proposer.gate.Flip;
import org.harnesslearning.tasks.statistics.Interval;
import org.jspecify.annotations.Nullable;

/**
 * A report as JUnit XML in the form of Surefire's schema, which Jenkins and GitLab read too: one case for the run, one for
 * its gate, one for each group of questions, one for each candidate. A failed gate and a flip of the regression set are
 * failures, a run that did not end is an error; invalid candidates are normal and shown as skipped.
 */
final class JunitReport {
    private final String className;
    private final StringBuilder cases = new StringBuilder();
    private int tests;
    private int failures;
    private int errors;
    private int skipped;

    private JunitReport(String className) {
        this.className = className;
    }

    static String render(RunReport report) {
        JunitReport junit = new JunitReport(report.task());
        junit.head(
                report.state(),
                report.stopReason(),
                report.headline(),
                report.gate(),
                report.gateReasons(),
                report.groups());
        for (RunReport.Candidate candidate : report.candidates()) {
            String name = "candidate " + candidate.place();
            String note = candidate.code() == null ? candidate.outcome() : candidate.code();
            switch (candidate.outcome()) {
                case "scored" -> junit.passed(name, "");
                case "infra_failure" -> junit.error(name, note);
                default -> junit.skip(name, note);
            }
        }
        Map<String, String> properties = new LinkedHashMap<>();
        properties.put("id", report.id());
        properties.put("recorded", Boolean.toString(report.recorded()));
        put(properties, "held_out_gain", report.heldOut().gain());
        put(properties, "held_out_gain_low", low(report.heldOut().gainCi()));
        put(properties, "noise", report.noise());
        put(properties, "cost", report.usage().cost());
        if (!report.sandboxGaps().isEmpty()) {
            properties.put("sandbox_gaps", String.join(",", report.sandboxGaps()));
        }
        return junit.suite("adaptation " + report.id(), properties, report.usage());
    }

    static String render(EvaluationReport report) {
        JunitReport junit = new JunitReport(report.task());
        junit.head(
                report.state(),
                report.stopReason(),
                report.headline(),
                report.gate(),
                report.gateReasons(),
                report.groups());
        Map<String, String> properties = new LinkedHashMap<>();
        properties.put("id", report.id());
        properties.put("recorded", Boolean.toString(report.recorded()));
        put(properties, "score", report.score() == null ? null : report.score().mean());
        put(properties, "gain", report.gain());
        put(properties, "gain_low", low(report.gainCi()));
        put(properties, "cost", report.usage().cost());
        if (!report.sandboxGaps().isEmpty()) {
            properties.put("sandbox_gaps", String.join(",", report.sandboxGaps()));
        }
        return junit.suite("evaluation " + report.id(), properties, report.usage());
    }

    private static void put(Map<String, String> properties, String name, @Nullable Double value) {
        if (value != null) {
            properties.put(name, Double.toString(value));
        }
    }

    private static @Nullable Double low(@Nullable Interval interval) {
        return interval == null ? null : Double.valueOf(interval.low());
    }

    private void head(
            String state,
            @Nullable String stopReason,
            String headline,
            String gate,
            List<String> reasons,
            List<QuestionGroup> groups) {
        if (state.equals("succeeded")) {
            passed("run", headline);
        } else {
            error("run", state + ": " + stopReason);
        }
        switch (gate) {
            case "passed" -> passed("gate", "");
            case "failed" ->
                failure("gate", "gate", reasons.isEmpty() ? headline : String.join("; ", reasons), headline, "");
            default -> skip("gate", "no gate was asked for");
        }
        groups.forEach(this::group);
    }

    private void group(QuestionGroup group) {
        List<String> anchors = new ArrayList<>();
        List<String> all = new ArrayList<>();
        for (Flip flip : group.flips()) {
            String line = flip.item() + (flip.id() == null ? "" : " (" + flip.id() + ")") + ": " + number(flip.before())
                    + " -> " + number(flip.after());
            all.add(line);
            if (flip.regression()) {
                anchors.add(line);
            }
        }
        String scores = group.n() + " questions, mean "
                + (group.before() == null ? "" : number(group.before()) + " -> ")
                + (group.after() == null ? "not measured" : number(group.after()));
        String output = all.isEmpty() ? scores : scores + "\nwent from right to wrong:\n" + String.join("\n", all);
        if (anchors.isEmpty()) {
            passed(group.title(), output);
        } else {
            failure(
                    group.title(),
                    "regression",
                    anchors.size() + " of the regression set went from right to wrong",
                    String.join("\n", anchors),
                    output);
        }
    }

    private void passed(String name, String output) {
        testCase(name, output.isEmpty() ? "" : "<system-out>" + xml(output) + "</system-out>");
    }

    private void skip(String name, String message) {
        skipped++;
        testCase(name, "<skipped message=\"" + xml(message) + "\"/>");
    }

    private void error(String name, String message) {
        errors++;
        testCase(name, "<error message=\"" + xml(message) + "\" type=\"infrastructure\"/>");
    }

    private void failure(String name, String type, String message, String text, String output) {
        failures++;
        testCase(
                name,
                "<failure message=\"" + xml(message) + "\" type=\"" + type + "\">" + xml(text) + "</failure>"
                        + (output.isEmpty() ? "" : "<system-out>" + xml(output) + "</system-out>"));
    }

    private void testCase(String name, String body) {
        tests++;
        cases.append("  <testcase classname=\"")
                .append(xml(className))
                .append("\" name=\"")
                .append(xml(name))
                .append("\" time=\"0\"")
                .append(body.isEmpty() ? "/>\n" : ">" + body + "</testcase>\n");
    }

    private String suite(String name, Map<String, String> properties, RunReport.UsageByRole usage) {
        StringBuilder shown = new StringBuilder();
        properties.forEach((key, value) -> shown.append("    <property name=\"")
                .append(xml(key))
                .append("\" value=\"")
                .append(xml(value))
                .append("\"/>\n"));
        return String.format(
                Locale.ROOT,
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <testsuite name="%s" tests="%d" failures="%d" errors="%d" skipped="%d" time="%.3f">
                  <properties>
                %s  </properties>
                %s</testsuite>
                """,
                xml(name),
                tests,
                failures,
                errors,
                skipped,
                usage.wallClockMs() / 1000.0,
                shown,
                cases);
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.3f", value);
    }

    /** Escaped; characters that XML 1.0 does not have become U+FFFD. */
    private static String xml(String text) {
        StringBuilder out = new StringBuilder();
        text.codePoints().forEach(c -> {
            switch (c) {
                case '<' -> out.append("&lt;");
                case '>' -> out.append("&gt;");
                case '&' -> out.append("&amp;");
                case '"' -> out.append("&quot;");
                case '\n', '\t' -> out.append((char) c);
                default -> {
                    boolean allowed = c >= 0x20 && (c < 0xD800 || c > 0xDFFF) && c != 0xFFFE && c != 0xFFFF;
                    out.appendCodePoint(allowed ? c : 0xFFFD);
                }
            }
        });
        return out.toString();
    }
}
