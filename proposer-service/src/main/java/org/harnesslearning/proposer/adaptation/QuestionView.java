package org.harnesslearning.proposer.adaptation;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.run.RunPlan;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.proposer.run.RunView;
import org.harnesslearning.store.execution.QuestionResults;
import org.harnesslearning.store.execution.ResultKey;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.MeasuredQuestion;
import org.harnesslearning.store.run.RunRow;
import org.springframework.stereotype.Component;

/**
 * A run question by question: every evaluation with its results, and one question with its trace. Of held-out questions
 * only scope admin sees more than hash, code, score and usage: answers and traces tell what was asked.
 */
@Component
class QuestionView {
    private final RunServices services;
    private final QuestionResults results;

    QuestionView(RunServices services, QuestionResults results) {
        this.services = services;
        this.results = results;
    }

    /** All evaluations of a run, as far as they have come. */
    List<Object> evaluations(RunRow run, Caller caller) {
        return services.evaluations().all(run.id()).stream()
                .map(evaluation -> evaluation(run, evaluation, caller))
                .toList();
    }

    private static Object evaluation(RunRow run, EvaluationRow evaluation, Caller caller) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("id", evaluation.id());
        view.put("round", evaluation.round());
        view.put("candidate", evaluation.candidate());
        view.put("role", evaluation.role());
        view.put("split", evaluation.split());
        view.put("repeat", evaluation.repeat());
        view.put("harness", evaluation.harness());
        view.put("questions", evaluation.questions());
        view.put("state", evaluation.state());
        view.put("score", RunView.score(run, evaluation.results()));
        view.put(
                "results",
                evaluation.results().stream()
                        .map(result -> shown(result, evaluation.split(), caller))
                        .toList());
        return view;
    }

    private static MeasuredQuestion shown(MeasuredQuestion result, Split split, Caller caller) {
        return split != Split.HELD_OUT || caller.admin() ? result : result.withoutAnswer();
    }

    /**
     * One question of one harness.
     *
     * @throws PlatformException NOT_FOUND when the run has no such question or it was not answered yet
     */
    Map<String, Object> question(RunRow run, String itemHash, String harness, int repeat, Caller caller) {
        if (repeat < 0) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "repeat must be 0 or more");
        }
        Split split = null;
        Item item = null;
        for (Map.Entry<Split, List<Item>> entry :
                services.runs().items(run.id()).entrySet()) {
            for (Item candidate : entry.getValue()) {
                if (candidate.hash().equals(itemHash)) {
                    split = entry.getKey();
                    item = candidate;
                }
            }
        }
        // A harness of another run would show what this run never measured.
        boolean measured = services.evaluations().all(run.id()).stream()
                .anyMatch(evaluation -> evaluation.harness().equals(harness) && evaluation.repeat() == repeat);
        if (split == null || item == null || !measured) {
            throw missing(run, itemHash);
        }
        RunPlan plan = Json.mapper().treeToValue(run.plan(), RunPlan.class);
        QuestionResult result = results.find(
                        new ResultKey(harness, itemHash, repeat, plan.solverHash(), Hashes.json(plan.scorer())))
                .orElseThrow(() -> missing(run, itemHash));
        boolean open = split != Split.HELD_OUT || caller.admin();
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("item_hash", itemHash);
        view.put("split", split);
        view.put("harness", harness);
        view.put("repeat", repeat);
        view.put("code", result.code());
        view.put("score", result.score());
        view.put("strict", result.strict());
        view.put("usage", result.usage());
        view.put("question", open ? item.question() : null);
        view.put("expected", open ? item.answers() : null);
        view.put("answer", open ? result.answer() : null);
        view.put("error", open ? result.error() : null);
        view.put("trace", open ? result.trace() : null);
        return view;
    }

    private static PlatformException missing(RunRow run, String item) {
        return new PlatformException(
                ErrorCode.NOT_FOUND, "Run " + run.id() + " has no result of that harness on question " + item);
    }
}
