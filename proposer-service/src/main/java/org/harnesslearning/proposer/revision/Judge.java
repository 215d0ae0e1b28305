package org.harnesslearning.proposer.revision;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.CheckRequest;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.ExecutorApi;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.outcome.Outcome;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.edit.EditOptions;
import org.harnesslearning.proposer.edit.EditResult;
import org.harnesslearning.proposer.edit.FinishReason;
import org.harnesslearning.proposer.edit.UnifiedDiff;
import org.harnesslearning.proposer.evaluation.Evaluator;
import org.harnesslearning.proposer.evaluation.Measurement;
import org.harnesslearning.proposer.evaluation.Patience;
import org.harnesslearning.proposer.leak.LeakLint;
import org.harnesslearning.proposer.run.RunContext;
import org.harnesslearning.proposer.run.RunPlan;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.run.CandidateRow;
import org.harnesslearning.store.run.EvaluationRow;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClientException;

/** Brings a reply to its outcome: parse, apply, leak lint; then static check, smoke run, dev questions. */
@Component
class Judge {
    private final RunServices services;
    private final Evaluator evaluator;
    private final ExecutorApi executor;

    Judge(RunServices services, Evaluator evaluator, ExecutorApi executor) {
        this.services = services;
        this.evaluator = evaluator;
        this.executor = executor;
    }

    /** What became of a harness that applied. */
    sealed interface Verdict {
        /** It has its outcome. */
        record Final(Outcome outcome, @Nullable Measurement done) implements Verdict {}

        /** The platform failed; how often in all. */
        record Failed(Outcome.InfraFailure outcome, int attempts) implements Verdict {}

        /** The budget cut it off. */
        record CutOff(String message) implements Verdict {}
    }

    /**
     * Applies a committed reply to the parent and stores the edited harness.
     *
     * @return the outcome if it ends here; empty when there is a harness to judge
     */
    Optional<Outcome.Invalid> edit(RunContext run, CandidateRow candidate, String parent) {
        RunSettings.Proposer settings = Objects.requireNonNull(run.settings().proposer());
        String prefix = settings.replyPrefix() == null ? "" : settings.replyPrefix();
        EditOptions options = EditOptions.DEFAULT.withReplyPrefix(prefix);
        FinishReason finish = FinishReason.of(candidate.finishReason());
        String reply = Objects.requireNonNull(candidate.reply());
        EditResult result = settings.replyForm().apply(parent, reply, finish, options);
        if (!result.applied()) {
            return Optional.of(
                    new Outcome.Invalid(OutcomeCode.valueOf(result.code().name()), result.message()));
        }
        String edited = result.result();
        services.tx()
                .executeWithoutResult(status -> services.candidates()
                        .edited(
                                run.id(),
                                candidate.round(),
                                candidate.candidate(),
                                services.harnesses().save(edited),
                                Objects.requireNonNull(result.tier()).name(),
                                UnifiedDiff.of(parent, edited, "a/harness.py", "b/harness.py"),
                                similarity(run, candidate, edited)));
        List<Item> items = new ArrayList<>();
        for (Split split : Split.values()) {
            items.addAll(run.items(split));
        }
        return LeakLint.of(items)
                .check(parent, edited)
                .map(message -> new Outcome.Invalid(OutcomeCode.LEAK_SUSPECT, message));
    }

    private @Nullable Double similarity(RunContext run, CandidateRow candidate, String edited) {
        return run.plan().demonstrations().stream()
                .filter(demonstration -> demonstration.name().equals(candidate.demonstration()))
                .findFirst()
                .map(RunPlan.Demonstrated::harness)
                .map(hash -> UnifiedDiff.similarity(edited, services.harnesses().source(hash)))
                .orElse(null);
    }

    /** Checks and measures a harness. */
    Verdict judge(RunContext run, CandidateRow candidate) {
        String hash = Objects.requireNonNull(candidate.harness());
        run.checkBudget();
        CheckResult check = null;
        Patience patience = services.properties().patience();
        for (int tries = 1; check == null; tries++) {
            try {
                check = executor.check(new CheckRequest(
                        services.harnesses().source(hash),
                        run.settings().limits(),
                        run.plan().kit()));
            } catch (PlatformException | RestClientException e) {
                Optional<Duration> wait =
                        e instanceof PlatformException failure ? patience.after(failure) : Optional.empty();
                if (wait.isPresent()) {
                    run.pause(wait.get(), 1);
                    tries--;
                    continue;
                }
                if (tries >= services.properties().attempts()) {
                    return new Verdict.Failed(
                            new Outcome.InfraFailure(OutcomeCode.SANDBOX_FAULT, "the check failed: " + e.getMessage()),
                            tries);
                }
                run.pause(services.properties().retryDelay(), tries);
            }
        }
        if (check.code() != null) {
            String message = check.message() == null ? check.code().name() : check.message();
            return new Verdict.Final(new Outcome.Invalid(check.code(), message), null);
        }
        Measurement measurement = evaluator.measure(
                run,
                "r" + candidate.round() + "/c" + candidate.candidate(),
                candidate.round(),
                candidate.candidate(),
                EvaluationRow.Role.CANDIDATE,
                Split.DEV,
                0,
                hash);
        return switch (measurement) {
            case Measurement.Done done -> new Verdict.Final(outcome(done), done);
            case Measurement.Failed failed ->
                new Verdict.Failed(new Outcome.InfraFailure(failed.code(), failed.message()), failed.attempts());
            case Measurement.CutOff cutOff -> new Verdict.CutOff(cutOff.message());
        };
    }

    /** Scored; or invalid when all questions failed, under the code of the commonest cause. */
    static Outcome outcome(Measurement.Done done) {
        List<QuestionResult> results = done.results();
        if (results.stream().anyMatch(result -> result.code() == QuestionCode.OK)) {
            double strict =
                    (double) results.stream().filter(QuestionResult::strict).count() / results.size();
            return new Outcome.Scored(done.mean(), strict, done.scores());
        }
        Map<QuestionCode, Long> causes = new EnumMap<>(QuestionCode.class);
        results.forEach(result -> causes.merge(result.code(), 1L, Long::sum));
        Map.Entry<QuestionCode, Long> commonest = causes.entrySet().stream()
                .max(Comparator.comparingLong(Map.Entry::getValue))
                .orElseThrow();
        return new Outcome.Invalid(
                code(commonest.getKey()),
                "all " + results.size() + " questions failed, " + commonest.getValue() + " of them with "
                        + commonest.getKey());
    }

    private static OutcomeCode code(QuestionCode code) {
        return switch (code) {
            case OK -> throw new IllegalArgumentException("OK is no failure");
            case ERROR -> OutcomeCode.ALL_QUESTIONS_ERROR;
            case TIMEOUT -> OutcomeCode.TIMEOUT;
            case MEMORY -> OutcomeCode.MEMORY;
            case OUTPUT_LIMIT -> OutcomeCode.OUTPUT_LIMIT;
            case CALL_BUDGET -> OutcomeCode.CALL_BUDGET;
            case SANDBOX_VIOLATION -> OutcomeCode.SANDBOX_VIOLATION;
        };
    }
}
