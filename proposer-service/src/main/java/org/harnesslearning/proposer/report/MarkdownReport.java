package org.harnesslearning.proposer.report;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.proposer.gate.Flip;
import org.harnesslearning.tasks.statistics.Interval;
import org.jspecify.annotations.Nullable;

/** The report as Markdown. */
final class MarkdownReport {
    private MarkdownReport() {}

    static String render(RunReport report) {
        StringBuilder out = new StringBuilder();
        line(out, "# Adaptation %s", report.id());
        line(out, "");
        line(out, "%s", report.headline());
        line(out, "");
        line(
                out,
                "Task %s · state %s (%s) · %d of %d rounds · reply form `%s` · demonstrations `%s`%s",
                report.task(),
                report.state(),
                report.stopReason(),
                report.roundsDone(),
                report.roundsPlanned(),
                report.replyForm(),
                report.demonstrations(),
                report.recorded() ? " · **recorded: true**" : "");
        if (report.message() != null) {
            line(out, "");
            line(out, "%s", report.message());
        }
        scores(out, report);
        gate(out, report.gate(), report.gateReasons());
        groups(out, report.groups());
        outcomes(out, report);
        accepted(out, report);
        usage(out, report.usage());
        gaps(out, report.sandboxGaps());
        if (report.lineageHash() != null) {
            line(out, "");
            line(out, "Lineage `%s`", report.lineageHash());
        }
        return out.toString();
    }

    static String render(EvaluationReport report) {
        StringBuilder out = new StringBuilder();
        line(out, "# Evaluation %s", report.id());
        line(out, "");
        line(out, "%s", report.headline());
        line(out, "");
        line(
                out,
                "Task %s · split %s · state %s (%s) · harness `%s`%s",
                report.task(),
                report.split(),
                report.state(),
                report.stopReason(),
                report.harness(),
                report.recorded() ? " · **recorded: true**" : "");
        if (report.message() != null) {
            line(out, "");
            line(out, "%s", report.message());
        }
        line(out, "");
        line(out, "## Scores");
        line(out, "");
        line(out, "| Harness | mean | strict | n |");
        line(out, "|---|---|---|---|");
        for (RunReport.Column column : Stream.of(report.baseline(), report.score())
                .flatMap(Stream::ofNullable)
                .toList()) {
            line(
                    out,
                    "| %s | %s | %s | %d |",
                    cell(column.name()),
                    score(column.mean(), column.ci()),
                    score(column.strict(), column.strictCi()),
                    column.n());
        }
        if (report.gain() != null) {
            line(out, "| **gain** | %s | – | – |", score(report.gain(), report.gainCi()));
        }
        gate(out, report.gate(), report.gateReasons());
        groups(out, report.groups());
        usage(out, report.usage());
        gaps(out, report.sandboxGaps());
        return out.toString();
    }

    private static void gate(StringBuilder out, String gate, List<String> reasons) {
        line(out, "");
        line(out, "Gate: %s.", gate);
        if (!reasons.isEmpty()) {
            line(out, "");
            reasons.forEach(reason -> line(out, "- %s", reason));
        }
    }

    private static void groups(StringBuilder out, List<QuestionGroup> groups) {
        if (groups.isEmpty()) {
            return;
        }
        line(out, "");
        line(out, "## Questions");
        line(out, "");
        line(out, "| Group | n | before | after | right to wrong | of the regression set |");
        line(out, "|---|---|---|---|---|---|");
        for (QuestionGroup group : groups) {
            line(
                    out,
                    "| %s | %d | %s | %s | %d | %d |",
                    cell(group.title()),
                    group.n(),
                    score(group.before(), null),
                    score(group.after(), null),
                    group.flips().size(),
                    group.regressions());
        }
        List<Flip> flips =
                groups.stream().flatMap(group -> group.flips().stream()).toList();
        if (!flips.isEmpty()) {
            line(out, "");
            line(out, "Went from right to wrong:");
            line(out, "");
            for (Flip flip : flips) {
                line(
                        out,
                        "- `%s`%s in %s: %s to %s%s",
                        flip.item(),
                        flip.id() == null ? "" : " (" + cell(flip.id()) + ")",
                        flip.split().json(),
                        number(flip.before()),
                        number(flip.after()),
                        flip.regression() ? " **regression set**" : "");
            }
        }
    }

    private static void scores(StringBuilder out, RunReport report) {
        line(out, "");
        line(out, "## Scores");
        line(out, "");
        line(out, "| Harness | held-out mean | held-out strict | n | dev mean (transductive) |");
        line(out, "|---|---|---|---|---|");
        for (RunReport.Column column : report.heldOut().columns()) {
            line(
                    out,
                    "| %s | %s | %s | %d | %s |",
                    cell(column.name()),
                    score(column.mean(), column.ci()),
                    score(column.strict(), column.strictCi()),
                    column.n(),
                    report.transductive().columns().stream()
                            .filter(dev -> dev.name().equals(column.name()))
                            .findFirst()
                            .map(dev -> score(dev.mean(), dev.ci()))
                            .orElse("–"));
        }
        line(
                out,
                "| **gain** | %s | – | – | %s |",
                score(report.heldOut().gain(), report.heldOut().gainCi()),
                score(report.transductive().gain(), report.transductive().gainCi()));
        line(out, "");
        line(
                out,
                "A/A noise of the starting harness (mean absolute difference): %s.",
                report.noise() == null ? "not measured" : number(report.noise()));
    }

    private static void outcomes(StringBuilder out, RunReport report) {
        line(out, "");
        line(out, "## Candidates");
        line(out, "");
        Map<String, Long> outcomes = report.outcomes();
        long attempted = outcomes.getOrDefault("scored", 0L)
                + outcomes.getOrDefault("invalid", 0L)
                + outcomes.getOrDefault("infra_failure", 0L);
        line(
                out,
                "%d attempted = %d scored + %d invalid + %d infrastructure failures; %d not finished.",
                attempted,
                outcomes.getOrDefault("scored", 0L),
                outcomes.getOrDefault("invalid", 0L),
                outcomes.getOrDefault("infra_failure", 0L),
                outcomes.getOrDefault("not_finished", 0L));
        line(out, "");
        line(out, "| Candidate | Outcome | Code | dev mean | |");
        line(out, "|---|---|---|---|---|");
        for (RunReport.Candidate candidate : report.candidates()) {
            String note = candidate.duplicateOf() != null
                    ? "same harness as " + candidate.duplicateOf()
                    : candidate.message() == null ? "" : candidate.message();
            line(
                    out,
                    "| %s | %s | %s | %s | %s |",
                    candidate.place(),
                    candidate.outcome(),
                    candidate.code() == null ? "" : candidate.code(),
                    candidate.mean() == null ? "–" : number(candidate.mean()),
                    cell(note));
        }
    }

    private static void accepted(StringBuilder out, RunReport report) {
        line(out, "");
        line(out, "## Accepted edits");
        if (report.accepted().isEmpty()) {
            line(out, "");
            line(out, "None.");
        }
        for (RunReport.Accepted edit : report.accepted()) {
            line(out, "");
            line(
                    out,
                    "Round %d, candidate %d, dev mean %s%s",
                    edit.round(),
                    edit.candidate(),
                    edit.devMean() == null ? "–" : number(edit.devMean()),
                    edit.similarity() == null
                            ? ""
                            : ", similarity to demonstration " + edit.demonstration() + " "
                                    + number(edit.similarity()));
            line(out, "");
            String diff = edit.diff() == null ? "" : edit.diff();
            String fence = fence(diff);
            line(out, "%sdiff", fence);
            out.append(diff).append(diff.endsWith("\n") ? "" : "\n");
            line(out, "%s", fence);
        }
    }

    private static String fence(String text) {
        String fence = "```";
        while (text.contains(fence)) {
            fence += "`";
        }
        return fence;
    }

    private static void usage(StringBuilder out, RunReport.UsageByRole usage) {
        line(out, "");
        line(out, "## Usage");
        line(out, "");
        line(out, "| Role | Calls | Prompt tokens | Completion tokens |");
        line(out, "|---|---|---|---|");
        role(out, "proposer", usage.proposer());
        role(out, "solver", usage.solver());
        if (usage.tools() != null) {
            line(out, "| tools | %d | – | – |", usage.tools().calls());
        }
        line(out, "");
        line(
                out,
                "%d calls repeated after a kill; %.1f s of work; cost %s.",
                usage.repeated(),
                usage.wallClockMs() / 1000.0,
                usage.cost() == null ? "unknown (no prices configured)" : number(usage.cost()));
    }

    private static void gaps(StringBuilder out, List<String> gaps) {
        if (!gaps.isEmpty()) {
            line(out, "");
            line(
                    out,
                    "**Sandboxes without %s**: their host lacks it, and a setting accepts that.",
                    String.join(", ", gaps));
        }
    }

    private static void role(StringBuilder out, String role, Usage usage) {
        line(out, "| %s | %d | %d | %d |", role, usage.calls(), usage.promptTokens(), usage.completionTokens());
    }

    private static String score(@Nullable Double value, @Nullable Interval ci) {
        if (value == null) {
            return "not measured";
        }
        return ci == null ? number(value) : number(value) + " [" + number(ci.low()) + ", " + number(ci.high()) + "]";
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.3f", value);
    }

    /** Text that stays in one table cell. */
    private static String cell(String text) {
        return text.replace("|", "\\|").replaceAll("[\\r\\n]+", " ");
    }

    private static void line(StringBuilder out, String format, @Nullable Object... values) {
        out.append(String.format(Locale.ROOT, format, values)).append('\n');
    }
}
