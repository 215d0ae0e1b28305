package org.harnesslearning.proposer.evaluation;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.ProposerProperties;
import org.harnesslearning.proposer.order.RunEndpoints;
import org.harnesslearning.proposer.run.RunDesk;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.proposer.run.RunView;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.MeasuredQuestion;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.store.run.RunRow;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** {@code POST /evaluations} and everything under {@code /evaluations} but the report. */
@RestController
class EvaluationController {
    private final RunEndpoints endpoints;
    private final RunEndpoints.Form form;
    private final RunDesk desk;
    private final RunServices services;
    private final RunView view;

    EvaluationController(
            RunEndpoints endpoints, RunDesk desk, RunServices services, RunView view, ProposerProperties properties) {
        this.endpoints = endpoints;
        this.form = new RunEndpoints.Form(
                RunKind.EVALUATION, "/evaluations", properties.reviseWait(), this::resource, this::entry);
        this.desk = desk;
        this.services = services;
        this.view = view;
    }

    @PostMapping(path = "/evaluations", consumes = MediaType.APPLICATION_JSON_VALUE)
    ResponseEntity<Object> evaluate(
            @RequestBody byte[] body,
            @RequestHeader(name = "Prefer", required = false) @Nullable String prefer,
            @RequestHeader(name = "Idempotency-Key", required = false) @Nullable String key,
            Caller caller) {
        return endpoints.order(form, body, prefer, key, caller);
    }

    @GetMapping("/evaluations")
    Map<String, Object> list(
            @RequestParam(name = "state", required = false) @Nullable String state,
            @RequestParam(name = "task", required = false) @Nullable String task,
            @RequestParam(name = "limit", defaultValue = "20") int limit,
            @RequestParam(name = "cursor", required = false) @Nullable String cursor,
            Caller caller) {
        return endpoints.list(form, new RunEndpoints.Page(state, task, limit, cursor), caller);
    }

    @GetMapping("/evaluations/{id}")
    ResponseEntity<Object> get(
            @PathVariable("id") String id,
            @RequestHeader(name = HttpHeaders.IF_NONE_MATCH, required = false) @Nullable String ifNoneMatch,
            Caller caller) {
        return endpoints.read(form, id, ifNoneMatch, caller);
    }

    @PostMapping("/evaluations" + RunEndpoints.CONTROL)
    ResponseEntity<Object> control(@PathVariable("id") String id, @PathVariable("wish") String wish, Caller caller) {
        return endpoints.control(form, id, wish, caller);
    }

    @DeleteMapping("/evaluations/{id}")
    ResponseEntity<Void> delete(@PathVariable("id") String id) {
        desk.delete(RunKind.EVALUATION, id);
        return ResponseEntity.noContent().build();
    }

    private Map<String, Object> resource(RunRow run, Caller caller) {
        List<MeasuredQuestion> results = results(run);
        Map<String, Integer> byCode = new TreeMap<>();
        results.forEach(result -> byCode.merge(result.code().name(), 1, Integer::sum));
        boolean heldOut = RunView.settings(run).split() == Split.HELD_OUT;
        Map<String, Object> fields = entry(run, results, caller);
        fields.put("by_code", byCode);
        fields.put(
                "questions",
                results.stream()
                        // Answers and exceptions of held-out questions may quote them: they go to scope admin only.
                        .map(result -> heldOut && !caller.admin() ? result.withoutAnswer() : result)
                        .toList());
        return fields;
    }

    private List<MeasuredQuestion> results(RunRow run) {
        return services.evaluations().all(run.id()).stream()
                .filter(evaluation -> evaluation.role() == EvaluationRow.Role.CANDIDATE)
                .findFirst()
                .map(EvaluationRow::results)
                .orElse(List.of());
    }

    /** What a list shows: all but what grows with the questions. */
    private Map<String, Object> entry(RunRow run, Caller caller) {
        return entry(run, results(run), caller);
    }

    private Map<String, Object> entry(RunRow run, List<MeasuredQuestion> results, Caller caller) {
        Map<String, Object> fields = new LinkedHashMap<>(view.head(run, caller));
        fields.put("harness", run.seedHarness());
        fields.put("score", RunView.score(run, results));
        fields.put("result", run.result());
        fields.put("recorded", run.recorded());
        fields.put("usage", view.usage(run));
        fields.put(
                "links", Map.of("self", "/evaluations/" + run.id(), "report", "/evaluations/" + run.id() + "/report"));
        return fields;
    }
}
