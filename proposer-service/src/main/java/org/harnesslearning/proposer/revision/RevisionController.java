package org.harnesslearning.proposer.revision;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.proposer.ProposerProperties;
import org.harnesslearning.proposer.order.RunEndpoints;
import org.harnesslearning.proposer.run.RunDesk;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.proposer.run.RunView;
import org.harnesslearning.store.run.CandidateRow;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.RoundRow;
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

/** {@code POST /revise} and everything under {@code /revisions} but the prompts. */
@RestController
class RevisionController {
    private final RunEndpoints endpoints;
    private final RunEndpoints.Form form;
    private final RunDesk desk;
    private final RunServices services;
    private final RunView view;

    RevisionController(
            RunEndpoints endpoints, RunDesk desk, RunServices services, RunView view, ProposerProperties properties) {
        this.endpoints = endpoints;
        this.form = new RunEndpoints.Form(
                RunKind.REVISION, "/revisions", properties.reviseWait(), this::resource, this::entry);
        this.desk = desk;
        this.services = services;
        this.view = view;
    }

    @PostMapping(path = "/revise", consumes = MediaType.APPLICATION_JSON_VALUE)
    ResponseEntity<Object> revise(
            @RequestBody byte[] body,
            @RequestHeader(name = "Prefer", required = false) @Nullable String prefer,
            @RequestHeader(name = "Idempotency-Key", required = false) @Nullable String key,
            Caller caller) {
        return endpoints.order(form, body, prefer, key, caller);
    }

    @GetMapping("/revisions")
    Map<String, Object> list(
            @RequestParam(name = "state", required = false) @Nullable String state,
            @RequestParam(name = "task", required = false) @Nullable String task,
            @RequestParam(name = "limit", defaultValue = "20") int limit,
            @RequestParam(name = "cursor", required = false) @Nullable String cursor,
            Caller caller) {
        return endpoints.list(form, new RunEndpoints.Page(state, task, limit, cursor), caller);
    }

    @GetMapping("/revisions/{id}")
    ResponseEntity<Object> get(
            @PathVariable("id") String id,
            @RequestHeader(name = HttpHeaders.IF_NONE_MATCH, required = false) @Nullable String ifNoneMatch,
            Caller caller) {
        return endpoints.read(form, id, ifNoneMatch, caller);
    }

    @PostMapping("/revisions" + RunEndpoints.CONTROL)
    ResponseEntity<Object> control(@PathVariable("id") String id, @PathVariable("wish") String wish, Caller caller) {
        return endpoints.control(form, id, wish, caller);
    }

    @DeleteMapping("/revisions/{id}")
    ResponseEntity<Void> delete(@PathVariable("id") String id) {
        desk.delete(RunKind.REVISION, id);
        return ResponseEntity.noContent().build();
    }

    private Map<String, Object> resource(RunRow run, Caller caller) {
        RoundRow round = services.rounds().find(run.id(), 1).orElse(null);
        List<EvaluationRow> evaluations = services.evaluations().all(run.id());
        Map<String, Object> fields = entry(run, caller);
        fields.put("report", round == null ? null : round.report());
        fields.put(
                "candidates",
                services.candidates().ofRound(run.id(), 1).stream()
                        .map(candidate -> candidate(run, candidate, evaluations))
                        .toList());
        return fields;
    }

    /** What a list shows: all but what grows with candidates and questions. */
    private Map<String, Object> entry(RunRow run, Caller caller) {
        Map<String, Object> fields = new LinkedHashMap<>(view.head(run, caller));
        fields.put("parent", run.seedHarness());
        fields.put("counts", view.counts(run));
        fields.put("recorded", run.recorded());
        fields.put("usage", view.usage(run));
        fields.put("links", Map.of("self", "/revisions/" + run.id()));
        return fields;
    }

    /** A revision has few candidates, so each shows its reply, edit and results at once. */
    private Map<String, Object> candidate(RunRow run, CandidateRow candidate, List<EvaluationRow> evaluations) {
        Map<String, Object> fields = new LinkedHashMap<>(view.candidate(run, candidate, evaluations));
        fields.put("reply", candidate.reply());
        fields.put("finish_reason", candidate.finishReason());
        fields.put("diff", candidate.diff());
        fields.put("questions", view.measured(candidate, evaluations));
        return fields;
    }
}
