package org.harnesslearning.proposer.run;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.execution.RunBudgets;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.run.CandidateRow;
import org.harnesslearning.store.run.CandidateScore;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.MeasuredQuestion;
import org.harnesslearning.store.run.RoundRow;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.tasks.statistics.ScoreSummary;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Parts of the resources of runs: settings, progress, rounds, counts, usage. */
@Component
public class RunView {
    private final RunServices services;
    private final RunCost cost;

    RunView(RunServices services, RunCost cost) {
        this.services = services;
        this.cost = cost;
    }

    /** The settings as the job reads them. */
    public static RunSettings settings(RunRow run) {
        return Json.mapper().treeToValue(run.settings(), RunSettings.class);
    }

    /**
     * What every run shows first; items in full for scope admin only.
     *
     */
    public Map<String, Object> head(RunRow run, Caller caller) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("id", run.id());
        view.put("state", run.state());
        view.put("stop_reason", run.stopReason());
        view.put("message", run.message());
        view.put("settings", shownSettings(run, caller));
        view.put("created_at", run.createdAt());
        view.put("finished_at", run.finishedAt());
        view.put("progress", Map.of("done", run.doneCalls(), "planned", run.plannedCalls(), "unit", "solver_calls"));
        return view;
    }

    private JsonNode shownSettings(RunRow run, Caller caller) {
        if (!caller.admin()) {
            return run.settings();
        }
        ObjectNode settings = (ObjectNode) run.settings().deepCopy();
        ObjectNode items = settings.putObject("items");
        services.runs()
                .items(run.id())
                .forEach((split, list) -> items.set(split.json(), Json.mapper().valueToTree(list)));
        return settings;
    }

    /** Rounds with their candidates. */
    public List<Object> rounds(RunRow run) {
        List<CandidateRow> candidates = services.candidates().all(run.id());
        List<EvaluationRow> evaluations = services.evaluations().all(run.id());
        List<Object> rounds = new ArrayList<>();
        for (RoundRow round : services.rounds().all(run.id())) {
            Map<String, Object> view = new LinkedHashMap<>();
            view.put("index", round.round());
            view.put("parent", round.parent());
            view.put("report", round.report());
            view.put(
                    "candidates",
                    candidates.stream()
                            .filter(candidate -> candidate.round() == round.round())
                            .map(candidate -> candidate(run, candidate, evaluations))
                            .toList());
            view.put("chosen", round.chosen());
            rounds.add(view);
        }
        return rounds;
    }

    /** A candidate as its round shows it. */
    public Map<String, Object> candidate(RunRow run, CandidateRow candidate, List<EvaluationRow> evaluations) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("index", candidate.candidate());
        view.put("outcome", candidate.outcome());
        view.put("code", candidate.code());
        view.put("message", candidate.message());
        view.put("tier", candidate.tier());
        view.put("harness", candidate.harness());
        view.put("duplicate_of", candidate.duplicateOf());
        view.put("score", score(run, candidate.score()));
        view.put("demonstration", candidate.demonstration());
        view.put("similarity", candidate.similarity());
        view.put("seed", candidate.seed());
        view.put(
                "usage",
                measured(candidate, evaluations).stream()
                        .map(MeasuredQuestion::usage)
                        .reduce(Usage.ZERO, Usage::plus));
        return view;
    }

    /** Per-question results of a candidate's dev run. */
    public List<MeasuredQuestion> measured(CandidateRow candidate, List<EvaluationRow> evaluations) {
        return evaluations.stream()
                .filter(evaluation -> evaluation.role() == EvaluationRow.Role.CANDIDATE
                        && evaluation.round() == candidate.round()
                        && Objects.equals(evaluation.candidate(), candidate.candidate()))
                .findFirst()
                .map(EvaluationRow::results)
                .orElse(List.of());
    }

    /** A score with its intervals. */
    public @Nullable ScoreSummary score(RunRow run, @Nullable CandidateScore score) {
        RunSettings settings = settings(run);
        return score == null
                ? null
                : ScoreSummary.of(score.scores(), score.strictByQuestion(), settings.confidence(), settings.seed());
    }

    /** Score of committed questions, null without any. */
    public static @Nullable ScoreSummary score(RunRow run, List<MeasuredQuestion> results) {
        RunSettings settings = settings(run);
        return results.isEmpty()
                ? null
                : ScoreSummary.of(
                        results.stream().map(MeasuredQuestion::score).toList(),
                        results.stream().map(MeasuredQuestion::strict).toList(),
                        settings.confidence(),
                        settings.seed());
    }

    /** The starting harness on dev. */
    public Map<String, Object> baseline(RunRow run) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("harness", run.seedHarness());
        view.put(
                "score",
                services.evaluations().all(run.id()).stream()
                        .filter(evaluation ->
                                evaluation.role() == EvaluationRow.Role.SEED && evaluation.split() == Split.DEV)
                        .findFirst()
                        .map(evaluation -> score(run, evaluation.results()))
                        .orElse(null));
        return view;
    }

    /** Outcomes; {@code attempted = scored + invalid + infra_failure} always. */
    public Map<String, Object> counts(RunRow run) {
        List<CandidateRow> candidates = services.candidates().all(run.id());
        long scored = count(candidates, CandidateOutcome.SCORED);
        long invalid = count(candidates, CandidateOutcome.INVALID);
        long infra = count(candidates, CandidateOutcome.INFRA_FAILURE);
        Map<String, Integer> byCode = new TreeMap<>();
        candidates.forEach(candidate -> {
            if (candidate.code() != null) {
                byCode.merge(candidate.code().name(), 1, Integer::sum);
            }
        });
        Map<String, Object> counts = new LinkedHashMap<>();
        counts.put("attempted", scored + invalid + infra);
        counts.put("scored", scored);
        counts.put("invalid", invalid);
        counts.put("infra_failure", infra);
        counts.put("not_finished", count(candidates, CandidateOutcome.NOT_FINISHED));
        counts.put(
                "duplicates",
                candidates.stream()
                        .filter(candidate -> candidate.duplicateOf() != null)
                        .count());
        counts.put("by_code", byCode);
        return counts;
    }

    private static long count(List<CandidateRow> candidates, CandidateOutcome outcome) {
        return candidates.stream()
                .filter(candidate -> candidate.outcome() == outcome)
                .count();
    }

    /** Calls and tokens by role. */
    public Map<String, Object> usage(RunRow run) {
        RunBudgets.RunUsage spent = services.budgets().usage(run.id());
        Map<String, Object> usage = new LinkedHashMap<>();
        usage.put("repeated", run.state().terminal() ? run.repeated() : run.repeated() + spent.repeated());
        usage.put("cached", spent.cached());
        usage.put("proposer", services.calls().usage(run.id()));
        usage.put("solver", spent.solver());
        if (settings(run).budget().toolCalls() != null) {
            usage.put("tools", services.toolCalls().spent(run.id()));
        }
        usage.put("cost", cost.of(run.id(), settings(run), services.properties()));
        usage.put("wall_clock_ms", run.activeMs());
        return usage;
    }
}
