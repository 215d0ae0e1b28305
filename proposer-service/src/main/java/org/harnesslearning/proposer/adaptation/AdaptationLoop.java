package org.harnesslearning.proposer.adaptation;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.evaluation.Evaluator;
import org.harnesslearning.proposer.revision.RoundRunner;
import org.harnesslearning.proposer.run.RunContext;
import org.harnesslearning.proposer.run.RunEvents;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.proposer.run.RunStop;
import org.harnesslearning.proposer.run.RunWork;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.run.CandidateRow;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.RoundRow;
import org.harnesslearning.store.run.RunKind;
import org.springframework.stereotype.Component;

/**
 * The adaptation of a harness. The state is what is committed; the loop goes from the start each time it is entered and
 * passes over what is there, so a kill at any place costs only what was not committed.
 *
 * <table>
 * <caption>Steps</caption>
 * <tr><th>step</th><th>committed as</th><th>next</th></tr>
 * <tr><td>baseline: starting harness on dev</td><td>evaluation {@code r0/seed}, by question</td><td>round 1</td></tr>
 * <tr><td>round r opened</td><td>round row with its parent</td><td>feedback</td></tr>
 * <tr><td>feedback: parent on feedback questions</td><td>evaluation {@code r/parent}, by question</td><td>report</td></tr>
 * <tr><td>report</td><td>text in the round row</td><td>proposer calls</td></tr>
 * <tr><td>proposer call</td><td>call row with all its replies</td><td>edits, when all calls ended</td></tr>
 * <tr><td>edit: parse, apply, leak lint</td><td>candidate's harness, or INVALID</td><td>check and dev</td></tr>
 * <tr><td>check and dev run of each new harness</td><td>evaluation {@code r/c}, by question; then one outcome</td>
 *   <td>selection, when all have outcomes</td></tr>
 * <tr><td>selection</td><td>chosen in the round row</td><td>round r + 1, or the final measurement</td></tr>
 * <tr><td>final measurement</td><td>evaluations {@code final/…}, by question</td><td>end</td></tr>
 * <tr><td>end</td><td>result, statistics, lineage hash, state</td><td>–</td></tr>
 * </table>
 *
 * <p>A budget that ends in a round gives its unfinished candidates NOT_FINISHED, selects among the finished ones and goes
 * to the final measurement, for which {@link org.harnesslearning.proposer.run.Reserve} has kept a part.
 */
@Component
class AdaptationLoop implements RunWork {
    private final RunServices services;
    private final RunEvents events;
    private final Evaluator evaluator;
    private final RoundRunner roundRunner;
    private final FinalMeasurement finalMeasurement;

    AdaptationLoop(
            RunServices services,
            RunEvents events,
            Evaluator evaluator,
            RoundRunner roundRunner,
            FinalMeasurement finalMeasurement) {
        this.services = services;
        this.events = events;
        this.evaluator = evaluator;
        this.roundRunner = roundRunner;
        this.finalMeasurement = finalMeasurement;
    }

    @Override
    public RunKind kind() {
        return RunKind.ADAPTATION;
    }

    @Override
    public Ending work(RunContext run) {
        String stopReason = run.stopReason() == null ? "rounds_done" : run.stopReason();
        String harness = run.seedHarness();
        try {
            if (run.stopReason() != null) {
                throw new RunStop(RunStop.Reason.BUDGET, "the budget is used up");
            }
            Map<String, Double> means = new LinkedHashMap<>();
            means.put(harness, baseline(run));
            for (int round = 1; round <= Objects.requireNonNull(run.settings().rounds()); round++) {
                harness = round(run, round, harness, means);
            }
        } catch (RunStop stop) {
            if (stop.reason() != RunStop.Reason.BUDGET) {
                throw stop;
            }
            stopReason = "budget";
            harness = closeAfterBudget(run, stop.why());
            services.runs().stopReason(run.id(), stopReason);
        }
        run.finalPhase();
        FinalMeasurement.Finding finding = finalMeasurement.measure(run, harness);
        return new Ending(
                finding.complete() ? stopReason : "budget", finding.result(), Lineage.hash(run, services, finding));
    }

    @Override
    public void cancelled(RunContext run, String why) {
        services.rounds().all(run.id()).forEach(round -> roundRunner.cutOff(run, round.round(), why));
    }

    private double baseline(RunContext run) {
        run.limit();
        run.check();
        return RoundRunner.completed(evaluator.measure(
                        run, "r0/seed", 0, null, EvaluationRow.Role.SEED, Split.DEV, 0, run.seedHarness()))
                .mean();
    }

    private String round(RunContext run, int round, String parent, Map<String, Double> means) {
        RoundRow row = services.rounds().find(run.id(), round).orElse(null);
        List<CandidateRow> candidates;
        if (row != null && row.chosen() != null) {
            candidates = services.candidates().ofRound(run.id(), round);
            remember(candidates, means);
            return row.chosen();
        }
        run.limit();
        if (row == null) {
            run.checkBudget();
        }
        candidates = roundRunner.run(run, round, parent);
        remember(candidates, means);
        return choose(run, round, parent, candidates, means);
    }

    private static void remember(List<CandidateRow> candidates, Map<String, Double> means) {
        for (CandidateRow candidate : candidates) {
            if (candidate.outcome() == CandidateOutcome.SCORED && candidate.score() != null) {
                means.putIfAbsent(
                        Objects.requireNonNull(candidate.harness()),
                        candidate.score().mean());
            }
        }
    }

    private String choose(
            RunContext run, int round, String parent, List<CandidateRow> candidates, Map<String, Double> means) {
        RunSettings.Selection rule = Objects.requireNonNull(run.settings().selection());
        List<SelectionRule.Scored> scored = candidates.stream()
                .filter(candidate -> candidate.outcome() == CandidateOutcome.SCORED)
                .map(candidate -> new SelectionRule.Scored(
                        candidate.candidate(),
                        Objects.requireNonNull(candidate.harness()),
                        Objects.requireNonNull(candidate.score()).mean()))
                .toList();
        double incumbent = Objects.requireNonNull(means.get(parent));
        String chosen = SelectionRule.choose(rule, parent, incumbent, scored);
        services.tx().executeWithoutResult(status -> {
            if (services.rounds().choose(run.id(), round, chosen)) {
                events.append(
                        run.id(),
                        "round.finished",
                        Map.of("rounds", List.of(Map.of("index", round, "parent", parent, "chosen", chosen))));
            }
        });
        events.progress(run);
        return chosen;
    }

    /** Closes the round that the budget cut off; returns the harness that is the result. */
    private String closeAfterBudget(RunContext run, String why) {
        String harness = run.seedHarness();
        Map<String, Double> means = new LinkedHashMap<>();
        services.evaluations()
                .find(run.id() + "/r0/seed/dev/0")
                .filter(row -> row.state() == EvaluationRow.State.DONE)
                .ifPresent(row -> means.put(
                        row.harness(),
                        row.results().stream()
                                .mapToDouble(result -> result.score())
                                .average()
                                .orElse(0)));
        for (RoundRow row : services.rounds().all(run.id())) {
            roundRunner.cutOff(run, row.round(), why);
            List<CandidateRow> candidates = services.candidates().ofRound(run.id(), row.round());
            remember(candidates, means);
            harness = row.chosen() != null ? row.chosen() : choose(run, row.round(), row.parent(), candidates, means);
        }
        return harness;
    }
}
