package org.harnesslearning.proposer.adaptation;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.evaluation.Evaluator;
import org.harnesslearning.proposer.evaluation.Measurement;
import org.harnesslearning.proposer.gate.GateCheck;
import org.harnesslearning.proposer.gate.Verdict;
import org.harnesslearning.proposer.revision.RoundRunner;
import org.harnesslearning.proposer.run.RunContext;
import org.harnesslearning.proposer.run.RunPlan;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.proposer.run.RunStop;
import org.harnesslearning.store.run.CandidateRow;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.MeasuredQuestion;
import org.harnesslearning.store.run.RoundRow;
import org.harnesslearning.tasks.statistics.Gain;
import org.harnesslearning.tasks.statistics.Noise;
import org.harnesslearning.tasks.statistics.ScoreSummary;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;

/**
 * The held-out measurement at the end, in the order of importance: starting harness, result, starting harness again
 * (A/A noise), demonstrations of the accepted edits. What the budget does not reach is missing, never estimated.
 */
@Component
class FinalMeasurement {
    private final RunServices services;
    private final Evaluator evaluator;
    private final GateCheck gates;

    FinalMeasurement(RunServices services, Evaluator evaluator, GateCheck gates) {
        this.services = services;
        this.evaluator = evaluator;
        this.gates = gates;
    }

    /**
     * What was found.
     *
     * @param complete whether nothing is missing
     * @param scores held-out scores by column, for the lineage
     */
    record Finding(boolean complete, AdaptationResult result, Map<String, List<Double>> scores) {}

    Finding measure(RunContext run, String harness) {
        Map<String, Measurement.Done> columns = new LinkedHashMap<>();
        boolean complete = true;
        if (!run.items(Split.HELD_OUT).isEmpty()) {
            try {
                column(run, columns, "seed", EvaluationRow.Role.SEED, 0, run.seedHarness());
                if (!harness.equals(run.seedHarness())) {
                    column(run, columns, "result", EvaluationRow.Role.RESULT, 0, harness);
                }
                column(run, columns, "noise", EvaluationRow.Role.NOISE, 1, run.seedHarness());
                for (RunPlan.Demonstrated demonstration : shown(run)) {
                    column(
                            run,
                            columns,
                            "demonstration-" + demonstration.name(),
                            EvaluationRow.Role.DEMONSTRATION,
                            0,
                            demonstration.harness());
                }
            } catch (RunStop stop) {
                if (stop.reason() != RunStop.Reason.BUDGET) {
                    throw stop;
                }
                complete = false;
            }
        }
        Map<String, List<Double>> scores = new LinkedHashMap<>();
        columns.forEach((name, done) -> scores.put(name, done.scores()));
        return new Finding(complete, result(run, harness, columns), scores);
    }

    private void column(
            RunContext run,
            Map<String, Measurement.Done> columns,
            String name,
            EvaluationRow.Role role,
            int repeat,
            String harness) {
        run.check();
        columns.put(
                name,
                RoundRunner.completed(
                        evaluator.measure(run, "final/" + name, 0, null, role, Split.HELD_OUT, repeat, harness)));
    }

    /** Demonstrations of the accepted edits; the first of the first round where none was accepted. */
    private List<RunPlan.Demonstrated> shown(RunContext run) {
        List<RunPlan.Demonstrated> all = run.plan().demonstrations();
        if (all.isEmpty()) {
            return List.of();
        }
        Set<String> names = new LinkedHashSet<>();
        for (RoundRow round : services.rounds().all(run.id())) {
            if (!round.parent().equals(round.chosen())) {
                services.candidates().ofRound(run.id(), round.round()).stream()
                        .filter(candidate -> Objects.equals(candidate.harness(), round.chosen())
                                && candidate.score() != null
                                && candidate.demonstration() != null)
                        .findFirst()
                        .map(CandidateRow::demonstration)
                        .ifPresent(names::add);
            }
        }
        if (names.isEmpty()) {
            names.add(all.get(1 % all.size()).name());
        }
        return all.stream()
                .filter(demonstration -> names.contains(demonstration.name()))
                .toList();
    }

    private AdaptationResult result(RunContext run, String harness, Map<String, Measurement.Done> columns) {
        double level = run.settings().confidence();
        long seed = run.settings().seed();
        Measurement.Done before = columns.get("seed");
        Measurement.Done after = harness.equals(run.seedHarness()) ? before : columns.get("result");
        Measurement.Done again = columns.get("noise");
        Gain gain = before == null || after == null ? null : Gain.paired(before.scores(), after.scores(), level, seed);
        List<AdaptationResult.Named> demonstrations = new ArrayList<>();
        columns.forEach((name, done) -> {
            if (name.startsWith("demonstration-")) {
                ScoreSummary score = ScoreSummary.of(done.scores(), done.strict(), level, seed);
                demonstrations.add(AdaptationResult.Named.of(name.substring("demonstration-".length()), score));
            }
        });
        Verdict verdict = gates.judge(run, List.of(dev(run, harness), pair(Split.HELD_OUT, before, after)), gain, null);
        return new AdaptationResult(
                harness,
                new AdaptationResult.HeldOut(
                        summary(before, level, seed),
                        summary(after, level, seed),
                        demonstrations.stream()
                                .max((a, b) -> Double.compare(a.mean(), b.mean()))
                                .orElse(null),
                        demonstrations,
                        gain),
                before == null || again == null ? null : Noise.of(before.scores(), again.scores()),
                verdict.gate(),
                verdict.reasons(),
                verdict.flips(),
                verdict.regression());
    }

    private static @Nullable ScoreSummary summary(Measurement.@Nullable Done done, double level, long seed) {
        return done == null ? null : ScoreSummary.of(done.scores(), done.strict(), level, seed);
    }

    private GateCheck.Pair dev(RunContext run, String harness) {
        List<EvaluationRow> done = services.evaluations().all(run.id()).stream()
                .filter(row -> row.split() == Split.DEV && row.state() == EvaluationRow.State.DONE)
                .toList();
        List<MeasuredQuestion> before = done.stream()
                .filter(row -> row.role() == EvaluationRow.Role.SEED)
                .findFirst()
                .map(EvaluationRow::results)
                .orElse(List.of());
        List<MeasuredQuestion> after = harness.equals(run.seedHarness())
                ? before
                : done.stream()
                        .filter(row -> row.harness().equals(harness))
                        .findFirst()
                        .map(EvaluationRow::results)
                        .orElse(List.of());
        return new GateCheck.Pair(Split.DEV, before, after);
    }

    private static GateCheck.Pair pair(
            Split split, Measurement.@Nullable Done before, Measurement.@Nullable Done after) {
        return new GateCheck.Pair(split, questions(before), questions(after));
    }

    private static List<MeasuredQuestion> questions(Measurement.@Nullable Done done) {
        return done == null
                ? List.of()
                : done.results().stream().map(MeasuredQuestion::of).toList();
    }
}
