package org.harnesslearning.proposer.report;

import java.util.Locale;

/**
 * The report as JUnit XML, for CI: one case for the run, one for its gate, one for each candidate. Only a failed gate or
 * run is a failure; invalid candidates are normal and shown as skipped.
 */
final class JunitReport {
    private JunitReport() {}

    static String render(RunReport report) {
        StringBuilder cases = new StringBuilder();
        int failures = 0;
        int errors = 0;
        int skipped = 0;
        if (report.state().equals("succeeded")) {
            testCase(cases, report, "run", "");
        } else {
            errors++;
            testCase(
                    cases,
                    report,
                    "run",
                    "<error message=\"" + xml(report.state() + ": " + report.stopReason()) + "\"/>");
        }
        switch (report.gate()) {
            case "passed" -> testCase(cases, report, "gate", "");
            case "failed" -> {
                failures++;
                testCase(cases, report, "gate", "<failure message=\"" + xml(report.headline()) + "\"/>");
            }
            default -> {
                skipped++;
                testCase(cases, report, "gate", "<skipped message=\"no gate was asked for\"/>");
            }
        }
        for (RunReport.Candidate candidate : report.candidates()) {
            String note = xml(candidate.code() == null ? candidate.outcome() : candidate.code());
            switch (candidate.outcome()) {
                case "scored" -> testCase(cases, report, "candidate " + candidate.place(), "");
                case "infra_failure" -> {
                    errors++;
                    testCase(cases, report, "candidate " + candidate.place(), "<error message=\"" + note + "\"/>");
                }
                default -> {
                    skipped++;
                    testCase(cases, report, "candidate " + candidate.place(), "<skipped message=\"" + note + "\"/>");
                }
            }
        }
        return String.format(
                Locale.ROOT,
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <testsuites>
                  <testsuite name="adaptation %s" tests="%d" failures="%d" errors="%d" skipped="%d" time="%.3f">
                %s    <system-out>%s</system-out>
                  </testsuite>
                </testsuites>
                """,
                xml(report.id()),
                2 + report.candidates().size(),
                failures,
                errors,
                skipped,
                report.usage().wallClockMs() / 1000.0,
                cases,
                xml(report.headline()));
    }

    private static void testCase(StringBuilder out, RunReport report, String name, String body) {
        out.append("    <testcase classname=\"")
                .append(xml(report.task()))
                .append("\" name=\"")
                .append(xml(name))
                .append(body.isEmpty() ? "\"/>\n" : "\">" + body + "</testcase>\n");
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
