package org.harnesslearning.proposer.revision;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.model.ModelApi;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.contracts.model.TokenizeRequest;
import org.harnesslearning.contracts.outcome.Outcome;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.evaluation.Evaluator;
import org.harnesslearning.proposer.evaluation.Measurement;
import org.harnesslearning.proposer.prompt.TokenCounter;
import org.harnesslearning.proposer.run.Lanes;
import org.harnesslearning.proposer.run.RunContext;
import org.harnesslearning.proposer.run.RunEvents;
import org.harnesslearning.proposer.run.RunMetrics;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.proposer.run.RunStop;
import org.harnesslearning.proposer.run.RunTraces;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.run.CandidateRow;
import org.harnesslearning.store.run.CandidateScore;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.RoundRow;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;

/**
 * One round: feedback run of the parent → report → replies → an outcome for each candidate. Every step looks first at
 * what is committed, so that a round can be entered again after a kill at any place.
 *
 * <p>Equal harnesses are judged once: the candidate with the lowest place is judged, the others share its outcome and,
 * when it is scored, name it as {@code duplicate_of}. The starting harness has the place {@code 0/0}.
 *
 * <p>An infrastructure failure becomes an outcome only if another candidate of the round was judged, or if the same work
 * has failed in two rows of tries: otherwise the round stops ({@link RunStop.Reason#OUTAGE}) and goes on later, so that
 * an outage uses up neither candidates nor rounds.
 */
@Component
public class RoundRunner {
    private static final Logger LOG = LoggerFactory.getLogger(RoundRunner.class);

    private final RunServices services;
    private final RunEvents events;
    private final Evaluator evaluator;
    private final Proposer proposer;
    private final Judge judge;
    private final ModelApi models;
    private final Prompts prompts;
    private final RunTraces traces;
    private final RunMetrics metrics;

    RoundRunner(
            RunServices services,
            RunEvents events,
            Evaluator evaluator,
            Proposer proposer,
            Judge judge,
            ModelApi models,
            Prompts prompts,
            RunTraces traces,
            RunMetrics metrics) {
        this.services = services;
        this.events = events;
        this.evaluator = evaluator;
        this.proposer = proposer;
        this.judge = judge;
        this.models = models;
        this.prompts = prompts;
        this.traces = traces;
        this.metrics = metrics;
    }

    /** Runs a round to the outcomes of all its candidates. */
    public List<CandidateRow> run(RunContext run, int round, String parent) {
        return traces.part("round", Integer.toString(round), () -> inTrace(run, round, parent));
    }

    private List<CandidateRow> inTrace(RunContext run, int round, String parent) {
        services.tx().executeWithoutResult(status -> {
            if (services.rounds().open(run.id(), round, parent)) {
                events.append(
                        run.id(), "round.started", Map.of("rounds", List.of(Map.of("index", round, "parent", parent))));
            }
        });
        String parentSource = services.harnesses().source(parent);
        String report = report(run, round, parent);
        List<Proposer.Unanswered> unanswered = proposer.propose(run, round, parentSource, report);
        // Replies are waited for to their end, so a wish of the meantime is seen here; edits themselves cost nothing.
        run.checkWishes();
        edit(run, round, parentSource);
        judgeAll(run, round, unanswered);
        return services.candidates().ofRound(run.id(), round);
    }

    /** Gives every candidate that has no outcome the outcome NOT_FINISHED. */
    public void cutOff(RunContext run, int round, String why) {
        for (CandidateRow candidate : services.candidates().ofRound(run.id(), round)) {
            if (candidate.outcome() == null) {
                finish(run, candidate, CandidateOutcome.NOT_FINISHED, null, why, null, null);
            }
        }
    }

    private String report(RunContext run, int round, String parent) {
        RoundRow row = services.rounds().find(run.id(), round).orElseThrow();
        if (row.reportText() != null) {
            return row.reportText();
        }
        List<QuestionResult> results = run.plan().report();
        if (results == null) {
            run.checkBudget();
            Measurement measurement = evaluator.measure(
                    run, "r" + round + "/parent", round, null, EvaluationRow.Role.INCUMBENT, Split.FEEDBACK, 0, parent);
            results = completed(measurement).results();
        }
        double mean =
                results.stream().mapToDouble(QuestionResult::score).average().orElse(0);
        String text = prompts.report(run.items(Split.FEEDBACK), results, tokens(run));
        services.rounds().report(run.id(), round, Map.of("mean", mean, "n", results.size()), text);
        return text;
    }

    /**
     * The results of a measurement that the run can't go on without.
     *
     * @throws RunStop when there are none
     */
    public static Measurement.Done completed(Measurement measurement) {
        return switch (measurement) {
            case Measurement.Done done -> done;
            case Measurement.Failed failed ->
                throw new RunStop(RunStop.Reason.OUTAGE, failed.code() + ": " + failed.message());
            case Measurement.CutOff cutOff -> throw new RunStop(RunStop.Reason.BUDGET, cutOff.message());
        };
    }

    /** Counts with the proposer's own tokenizer where it has one here, else characters / 3. */
    private TokenCounter tokens(RunContext run) {
        RunSettings.Proposer settings = Objects.requireNonNull(run.settings().proposer());
        ModelInfo info = run.plan().proposer();
        if (info == null || info.kind() != ModelInfo.Kind.LOCAL) {
            return TokenCounter.byCharacters();
        }
        return text -> {
            try {
                return models.tokenize(new TokenizeRequest(settings.model(), text, null))
                        .count();
            } catch (PlatformException e) {
                return TokenCounter.byCharacters().count(text);
            }
        };
    }

    private void edit(RunContext run, int round, String parentSource) {
        for (CandidateRow candidate : services.candidates().ofRound(run.id(), round)) {
            if (candidate.reply() != null && candidate.outcome() == null) {
                judge.edit(run, candidate, parentSource)
                        .ifPresent(invalid -> finish(
                                run,
                                candidate,
                                CandidateOutcome.INVALID,
                                invalid.code(),
                                invalid.message(),
                                null,
                                null));
            }
        }
    }

    private void judgeAll(RunContext run, int round, List<Proposer.Unanswered> unanswered) {
        Map<String, CandidateRow> judged = judgedHarnesses(run, round);
        Map<String, List<CandidateRow>> open = new LinkedHashMap<>();
        for (CandidateRow candidate : services.candidates().ofRound(run.id(), round)) {
            String harness = candidate.harness();
            if (candidate.outcome() == null && harness != null) {
                if (judged.containsKey(harness)) {
                    share(run, Objects.requireNonNull(judged.get(harness)), candidate);
                } else if (harness.equals(run.seedHarness()) && seedScore(run) != null) {
                    finish(run, candidate, CandidateOutcome.SCORED, null, null, "0/0", seedScore(run));
                } else {
                    open.computeIfAbsent(harness, key -> new ArrayList<>()).add(candidate);
                }
            }
        }
        Map<String, Judge.Verdict> verdicts = new ConcurrentHashMap<>();
        boolean evaluate = run.settings().evaluate() == null || run.settings().evaluate();
        if (evaluate) {
            Lanes.each(List.copyOf(open.values()), services.properties().candidateLanes(), same -> {
                CandidateRow first = same.getFirst();
                Judge.Verdict verdict = traces.part("candidate", first.place(), () -> judge.judge(run, first));
                verdicts.put(Objects.requireNonNull(first.harness()), verdict);
                if (verdict instanceof Judge.Verdict.Final done) {
                    settle(run, first, done.outcome(), done.done());
                    CandidateRow settled = services.candidates()
                            .find(run.id(), round, first.candidate())
                            .orElseThrow();
                    same.subList(1, same.size()).forEach(other -> share(run, settled, other));
                }
            });
        }
        settleFailures(run, round, open, verdicts, unanswered);
    }

    /** Failures become outcomes, or stop the round, only after everything that could be judged was. */
    private void settleFailures(
            RunContext run,
            int round,
            Map<String, List<CandidateRow>> open,
            Map<String, Judge.Verdict> verdicts,
            List<Proposer.Unanswered> unanswered) {
        int bound = 2 * services.properties().attempts();
        boolean othersWork = services.candidates().ofRound(run.id(), round).stream()
                .anyMatch(candidate -> candidate.outcome() == CandidateOutcome.SCORED
                        || candidate.outcome() == CandidateOutcome.INVALID
                                && candidate.code() != OutcomeCode.LEAK_SUSPECT
                                && candidate.harness() != null);
        boolean someReplied = services.candidates().ofRound(run.id(), round).stream()
                .anyMatch(candidate -> candidate.reply() != null);
        for (Proposer.Unanswered failed : unanswered) {
            if (!someReplied) {
                throw new RunStop(RunStop.Reason.OUTAGE, OutcomeCode.PROPOSER_UNAVAILABLE + ": " + failed.message());
            }
            for (int index : failed.candidates()) {
                CandidateRow candidate =
                        services.candidates().find(run.id(), round, index).orElseThrow();
                finish(
                        run,
                        candidate,
                        CandidateOutcome.INFRA_FAILURE,
                        OutcomeCode.PROPOSER_UNAVAILABLE,
                        failed.message(),
                        null,
                        null);
            }
        }
        for (Map.Entry<String, Judge.Verdict> entry : verdicts.entrySet()) {
            List<CandidateRow> same = Objects.requireNonNull(open.get(entry.getKey()));
            switch (entry.getValue()) {
                case Judge.Verdict.Final done -> {}
                case Judge.Verdict.CutOff cutOff -> throw new RunStop(RunStop.Reason.BUDGET, cutOff.message());
                case Judge.Verdict.Failed failed -> {
                    if (!othersWork && failed.attempts() < bound) {
                        throw new RunStop(
                                RunStop.Reason.OUTAGE,
                                failed.outcome().code() + ": "
                                        + failed.outcome().message());
                    }
                    same.forEach(candidate -> settle(run, candidate, failed.outcome(), null));
                }
            }
        }
    }

    /** Candidates with an outcome by harness, the first place of each; infrastructure failures don't count. */
    private Map<String, CandidateRow> judgedHarnesses(RunContext run, int round) {
        Map<String, CandidateRow> judged = new LinkedHashMap<>();
        for (CandidateRow candidate : services.candidates().all(run.id())) {
            boolean counts =
                    candidate.outcome() == CandidateOutcome.SCORED || candidate.outcome() == CandidateOutcome.INVALID;
            if (counts
                    && candidate.harness() != null
                    && candidate.duplicateOf() == null
                    && candidate.round() <= round) {
                judged.putIfAbsent(candidate.harness(), candidate);
            }
        }
        return judged;
    }

    private @Nullable CandidateScore seedScore(RunContext run) {
        return services.evaluations().all(run.id()).stream()
                .filter(evaluation -> evaluation.role() == EvaluationRow.Role.SEED
                        && evaluation.split() == Split.DEV
                        && evaluation.state() == EvaluationRow.State.DONE)
                .findFirst()
                .map(evaluation -> {
                    List<Double> scores = evaluation.results().stream()
                            .map(result -> result.score())
                            .toList();
                    List<Boolean> strict = evaluation.results().stream()
                            .map(result -> result.strict())
                            .toList();
                    return score(scores, strict);
                })
                .orElse(null);
    }

    private void share(RunContext run, CandidateRow first, CandidateRow other) {
        boolean scored = first.outcome() == CandidateOutcome.SCORED;
        finish(
                run,
                other,
                Objects.requireNonNull(first.outcome()),
                first.code(),
                scored ? null : "the same harness as candidate " + first.place() + ": " + first.message(),
                scored ? first.place() : null,
                first.score());
    }

    private void settle(RunContext run, CandidateRow candidate, Outcome outcome, @Nullable Measurement measurement) {
        switch (outcome) {
            case Outcome.Invalid invalid ->
                finish(run, candidate, CandidateOutcome.INVALID, invalid.code(), invalid.message(), null, null);
            case Outcome.InfraFailure failure ->
                finish(run, candidate, CandidateOutcome.INFRA_FAILURE, failure.code(), failure.message(), null, null);
            case Outcome.Scored scored -> {
                List<Boolean> strict = measurement instanceof Measurement.Done done ? done.strict() : List.of();
                finish(run, candidate, CandidateOutcome.SCORED, null, null, null, score(scored.scores(), strict));
            }
        }
    }

    private static CandidateScore score(List<Double> scores, List<Boolean> strict) {
        double mean = scores.stream().mapToDouble(Double::doubleValue).sum() / scores.size();
        double rate = (double) strict.stream().filter(Boolean::booleanValue).count() / scores.size();
        return new CandidateScore(mean, rate, scores, strict);
    }

    private void finish(
            RunContext run,
            CandidateRow candidate,
            CandidateOutcome outcome,
            @Nullable OutcomeCode code,
            @Nullable String message,
            @Nullable String duplicateOf,
            @Nullable CandidateScore score) {
        Boolean finished = services.tx().execute(status -> {
            boolean first = services.candidates()
                    .finish(
                            run.id(),
                            candidate.round(),
                            candidate.candidate(),
                            outcome,
                            code,
                            message,
                            duplicateOf,
                            score);
            if (first) {
                events.append(
                        run.id(),
                        "candidate.finished",
                        CandidateEvent.of(candidate, outcome, code, message, duplicateOf, score));
            }
            return first;
        });
        if (Boolean.TRUE.equals(finished)) {
            metrics.candidate(outcome, code);
            LOG.info("candidate {} {} {}", candidate.place(), outcome.json(), code == null ? "" : code);
        }
        events.progress(run);
    }
}
