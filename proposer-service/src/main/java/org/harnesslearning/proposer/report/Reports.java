package org.harnesslearning.proposer.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.gate.Flip;
import org.harnesslearning.proposer.gate.Verdict;
import org.harnesslearning.proposer.run.RunCost;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.proposer.run.RunView;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.run.CandidateRow;
import org.harnesslearning.store.run.CandidateScore;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.MeasuredQuestion;
import org.harnesslearning.store.run.RoundRow;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.tasks.statistics.Gain;
import org.harnesslearning.tasks.statistics.Interval;
import org.harnesslearning.tasks.statistics.ScoreSummary;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.MissingNode;

/** Puts a finished run's report together from what is stored. */
@Component
class Reports {
    private final RunServices services;
    private final RunCost cost;

    Reports(RunServices services, RunCost cost) {
        this.services = services;
        this.cost = cost;
    }

    RunReport of(RunRow run) {
        RunSettings settings = RunView.settings(run);
        List<CandidateRow> candidates = services.candidates().all(run.id());
        List<RoundRow> rounds = services.rounds().all(run.id());
        List<RunReport.Accepted> accepted = accepted(rounds, candidates);
        RunReport.Table heldOut = heldOut(run);
        boolean improved = heldOut.gainCi() != null && heldOut.gainCi().low() > 0;
        Map<String, Integer> byCode = new TreeMap<>();
        candidates.forEach(candidate -> {
            if (candidate.code() != null) {
                byCode.merge(candidate.code().name(), 1, Integer::sum);
            }
        });
        RunSettings.Proposer proposer = Objects.requireNonNull(settings.proposer());
        JsonNode noise = run.result() == null ? null : run.result().at("/noise/mean_abs_diff");
        return new RunReport(
                run.id(),
                run.taskName(),
                run.state().json(),
                run.stopReason(),
                run.message(),
                headline(run, heldOut, improved, accepted.isEmpty()),
                improved,
                run.recorded(),
                (int) rounds.stream().filter(round -> round.chosen() != null).count(),
                Objects.requireNonNull(settings.rounds()),
                proposer.replyForm().json(),
                proposer.demonstrations(),
                transductive(run, settings, rounds, candidates),
                heldOut,
                noise == null || !noise.isNumber() ? null : noise.asDouble(),
                gate(run),
                gateReasons(run),
                groups(run, rounds),
                run.result() == null || !run.result().path("regression").isObject()
                        ? null
                        : Json.mapper().treeToValue(run.result().get("regression"), Verdict.Regression.class),
                outcomes(candidates),
                byCode,
                candidates.stream().map(Reports::candidate).toList(),
                accepted,
                usage(run, settings),
                run.lineageHash(),
                gaps(services.evaluations().all(run.id())));
    }

    private static List<String> gaps(List<EvaluationRow> rows) {
        return rows.stream()
                .flatMap(row -> row.results().stream())
                .flatMap(result -> result.sandboxGaps().stream())
                .distinct()
                .sorted()
                .toList();
    }

    /** The report of an evaluation. */
    EvaluationReport ofEvaluation(RunRow run) {
        RunSettings settings = RunView.settings(run);
        Split split = Objects.requireNonNull(settings.split());
        List<EvaluationRow> rows = services.evaluations().all(run.id());
        List<MeasuredQuestion> measured = results(rows, EvaluationRow.Role.CANDIDATE, split, null);
        List<MeasuredQuestion> baseline = results(rows, EvaluationRow.Role.SEED, split, null);
        ScoreSummary score = RunView.score(run, measured);
        ScoreSummary compared = RunView.score(run, baseline);
        JsonNode gain =
                run.result() == null ? MissingNode.getInstance() : run.result().path("gain");
        String headline = score == null
                ? "The evaluation ended (" + run.stopReason() + ") without a score."
                : String.format(
                        Locale.ROOT,
                        "The harness scores %.3f on %d %s questions%s.%s",
                        score.mean(),
                        score.n(),
                        split.json(),
                        compared == null ? "" : String.format(Locale.ROOT, ", the baseline %.3f", compared.mean()),
                        run.recorded() ? " Replies came from a file (recorded: true)." : "");
        return new EvaluationReport(
                run.id(),
                run.taskName(),
                run.state().json(),
                run.stopReason(),
                run.message(),
                headline,
                run.recorded(),
                split.json(),
                run.seedHarness(),
                score == null ? null : column("harness", score),
                compared == null ? null : column("baseline", compared),
                gain.isObject() ? Double.valueOf(gain.path("mean").asDouble()) : null,
                interval(gain.get("ci")),
                gate(run),
                gateReasons(run),
                QuestionGroup.of(
                        split,
                        services.runs().items(run.id()).getOrDefault(split, List.of()),
                        baseline,
                        measured,
                        flips(run)),
                usage(run, settings),
                gaps(rows));
    }

    private RunReport.UsageByRole usage(RunRow run, RunSettings settings) {
        return new RunReport.UsageByRole(
                services.calls().usage(run.id()),
                services.budgets().usage(run.id()).solver(),
                settings.budget().toolCalls() == null
                        ? null
                        : services.toolCalls().spent(run.id()),
                run.repeated(),
                cost.of(run.id(), settings, services.properties()),
                run.activeMs());
    }

    private static String gate(RunRow run) {
        return run.result() == null ? "none" : run.result().at("/gate").asString("none");
    }

    private static List<String> gateReasons(RunRow run) {
        return run.result() == null
                ? List.of()
                : run.result()
                        .path("gate_reasons")
                        .valueStream()
                        .map(JsonNode::asString)
                        .toList();
    }

    private static List<Flip> flips(RunRow run) {
        return run.result() == null
                ? List.of()
                : run.result()
                        .path("flips")
                        .valueStream()
                        .map(flip -> Json.mapper().treeToValue(flip, Flip.class))
                        .toList();
    }

    private List<QuestionGroup> groups(RunRow run, List<RoundRow> rounds) {
        List<EvaluationRow> rows = services.evaluations().all(run.id());
        Map<Split, List<Item>> items = services.runs().items(run.id());
        String found = run.result() == null ? null : run.result().at("/harness").asString(run.seedHarness());
        String last = found != null
                ? found
                : rounds.isEmpty() ? run.seedHarness() : rounds.getLast().chosen();
        String result = last == null ? run.seedHarness() : last;
        boolean same = result.equals(run.seedHarness());
        List<QuestionGroup> groups = new ArrayList<>();
        for (Split split : List.of(Split.DEV, Split.HELD_OUT)) {
            List<MeasuredQuestion> before = results(rows, EvaluationRow.Role.SEED, split, run.seedHarness());
            EvaluationRow.Role role = split == Split.DEV ? EvaluationRow.Role.CANDIDATE : EvaluationRow.Role.RESULT;
            groups.addAll(QuestionGroup.of(
                    split,
                    items.getOrDefault(split, List.of()),
                    before,
                    same ? before : results(rows, role, split, result),
                    flips(run)));
        }
        return groups;
    }

    private static List<MeasuredQuestion> results(
            List<EvaluationRow> rows, EvaluationRow.Role role, Split split, @Nullable String harness) {
        return rows.stream()
                .filter(row -> row.role() == role
                        && row.split() == split
                        && row.state() == EvaluationRow.State.DONE
                        && (harness == null || harness.equals(row.harness())))
                .findFirst()
                .map(EvaluationRow::results)
                .orElse(List.of());
    }

    private static String headline(RunRow run, RunReport.Table heldOut, boolean improved, boolean nothingAccepted) {
        String recorded = run.recorded() ? " Replies came from a file (recorded: true)." : "";
        if (heldOut.gain() == null) {
            return "The run ended (" + run.stopReason() + ") without a held-out comparison." + recorded;
        }
        if (nothingAccepted) {
            return "The harness did not improve: no edit was selected, so the result is the starting harness."
                    + recorded;
        }
        Interval ci = Objects.requireNonNull(heldOut.gainCi());
        String gain = String.format(
                Locale.ROOT,
                "%+.3f (%.0f %% interval %+.3f to %+.3f)",
                heldOut.gain(),
                100 * ci.level(),
                ci.low(),
                ci.high());
        return (improved
                        ? "The harness improved on held-out questions by " + gain + "."
                        : "The harness did not improve beyond doubt: the held-out gain is " + gain + ".")
                + recorded;
    }

    private static Map<String, Long> outcomes(List<CandidateRow> candidates) {
        Map<String, Long> outcomes = new LinkedHashMap<>();
        for (CandidateOutcome outcome : CandidateOutcome.values()) {
            outcomes.put(
                    outcome.json(),
                    candidates.stream()
                            .filter(candidate -> candidate.outcome() == outcome)
                            .count());
        }
        return outcomes;
    }

    private static RunReport.Candidate candidate(CandidateRow candidate) {
        return new RunReport.Candidate(
                candidate.place(),
                candidate.outcome() == null ? "open" : candidate.outcome().json(),
                candidate.code() == null ? null : candidate.code().name(),
                candidate.message(),
                candidate.duplicateOf(),
                candidate.score() == null ? null : candidate.score().mean());
    }

    private static List<RunReport.Accepted> accepted(List<RoundRow> rounds, List<CandidateRow> candidates) {
        List<RunReport.Accepted> accepted = new ArrayList<>();
        for (RoundRow round : rounds) {
            String chosen = round.chosen();
            if (chosen == null || chosen.equals(round.parent())) {
                continue;
            }
            candidates.stream()
                    .filter(candidate -> candidate.round() == round.round()
                            && candidate.outcome() == CandidateOutcome.SCORED
                            && chosen.equals(candidate.harness()))
                    .findFirst()
                    .ifPresent(candidate -> accepted.add(new RunReport.Accepted(
                            round.round(),
                            candidate.candidate(),
                            chosen,
                            candidate.score() == null ? null : candidate.score().mean(),
                            candidate.demonstration(),
                            candidate.similarity(),
                            candidate.diff())));
        }
        return accepted;
    }

    private RunReport.Table transductive(
            RunRow run, RunSettings settings, List<RoundRow> rounds, List<CandidateRow> candidates) {
        EvaluationRow baseline = services.evaluations().all(run.id()).stream()
                .filter(row -> row.role() == EvaluationRow.Role.SEED
                        && row.split() == Split.DEV
                        && row.state() == EvaluationRow.State.DONE)
                .findFirst()
                .orElse(null);
        if (baseline == null) {
            return new RunReport.Table(List.of(), null, null);
        }
        List<Double> before =
                baseline.results().stream().map(result -> result.score()).toList();
        List<Boolean> strictBefore =
                baseline.results().stream().map(result -> result.strict()).toList();
        String last = rounds.isEmpty() ? null : rounds.getLast().chosen();
        CandidateScore result = candidates.stream()
                .filter(candidate -> candidate.score() != null && Objects.equals(candidate.harness(), last))
                .map(CandidateRow::score)
                .findFirst()
                .orElse(null);
        List<Double> after = result == null ? before : result.scores();
        List<Boolean> strictAfter = result == null ? strictBefore : result.strictByQuestion();
        double level = settings.confidence();
        Gain gain = Gain.paired(before, after, level, settings.seed());
        return new RunReport.Table(
                List.of(
                        column("seed", ScoreSummary.of(before, strictBefore, level, settings.seed())),
                        column("result", ScoreSummary.of(after, strictAfter, level, settings.seed()))),
                gain.mean(),
                gain.ci());
    }

    private static RunReport.Column column(String name, ScoreSummary score) {
        return new RunReport.Column(name, score.mean(), score.ci(), score.strict(), score.strictCi(), score.n());
    }

    private static RunReport.Table heldOut(RunRow run) {
        JsonNode found = run.result() == null ? null : run.result().get("held_out");
        List<RunReport.Column> columns = new ArrayList<>();
        if (found == null || found.isNull()) {
            return new RunReport.Table(columns, null, null);
        }
        add(columns, "seed", found.get("seed"));
        add(columns, "result", found.get("result"));
        found.at("/demonstrations")
                .forEach(score ->
                        add(columns, "demonstration " + score.get("name").asString(), score));
        JsonNode gain = found.get("gain");
        return gain == null || gain.isNull()
                ? new RunReport.Table(columns, null, null)
                : new RunReport.Table(columns, gain.get("mean").asDouble(), interval(gain.get("ci")));
    }

    private static void add(List<RunReport.Column> columns, String name, @Nullable JsonNode score) {
        if (score != null && score.has("mean")) {
            columns.add(new RunReport.Column(
                    name,
                    score.get("mean").asDouble(),
                    interval(score.get("ci")),
                    score.get("strict").asDouble(),
                    interval(score.get("strict_ci")),
                    score.get("n").asInt()));
        }
    }

    private static @Nullable Interval interval(@Nullable JsonNode node) {
        return node == null || !node.has("low") ? null : Json.mapper().treeToValue(node, Interval.class);
    }
}
