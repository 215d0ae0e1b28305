package org.harnesslearning.proposer.adaptation;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.proposer.order.RunEndpoints;
import org.harnesslearning.proposer.run.EventStream;
import org.harnesslearning.proposer.run.RunDesk;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.proposer.run.RunView;
import org.harnesslearning.store.run.CandidateRow;
import org.harnesslearning.store.run.EvaluationRow;
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
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

/** {@code POST /adapt} and everything under {@code /adaptations} but the report. */
@RestController
class AdaptationController {
    private static final RunKind KIND = RunKind.ADAPTATION;

    private final RunEndpoints endpoints;
    private final RunEndpoints.Form form;
    private final RunDesk desk;
    private final RunServices services;
    private final RunView view;
    private final EventStream events;
    private final QuestionView questions;

    AdaptationController(
            RunEndpoints endpoints,
            RunDesk desk,
            RunServices services,
            RunView view,
            EventStream events,
            AdaptationResource resource,
            QuestionView questions) {
        this.endpoints = endpoints;
        this.form = new RunEndpoints.Form(KIND, "/adaptations", Duration.ZERO, resource::of, resource::of);
        this.desk = desk;
        this.services = services;
        this.view = view;
        this.events = events;
        this.questions = questions;
    }

    @PostMapping(path = "/adapt", consumes = MediaType.APPLICATION_JSON_VALUE)
    ResponseEntity<Object> adapt(
            @RequestBody byte[] body,
            @RequestHeader(name = "Prefer", required = false) @Nullable String prefer,
            @RequestHeader(name = "Idempotency-Key", required = false) @Nullable String key,
            Caller caller) {
        return endpoints.order(form, body, prefer, key, caller);
    }

    @GetMapping("/adaptations")
    Map<String, Object> list(
            @RequestParam(name = "state", required = false) @Nullable String state,
            @RequestParam(name = "task", required = false) @Nullable String task,
            @RequestParam(name = "limit", defaultValue = "20") int limit,
            @RequestParam(name = "cursor", required = false) @Nullable String cursor,
            Caller caller) {
        return endpoints.list(form, new RunEndpoints.Page(state, task, limit, cursor), caller);
    }

    @GetMapping("/adaptations/{id}")
    ResponseEntity<Object> get(
            @PathVariable("id") String id,
            @RequestHeader(name = HttpHeaders.IF_NONE_MATCH, required = false) @Nullable String ifNoneMatch,
            Caller caller) {
        return endpoints.read(form, id, ifNoneMatch, caller);
    }

    @GetMapping(path = "/adaptations/{id}/events", produces = MediaType.TEXT_EVENT_STREAM_VALUE)
    SseEmitter events(
            @PathVariable("id") String id,
            @RequestHeader(name = "Last-Event-ID", required = false) @Nullable String lastEventId) {
        return events.open(desk.get(KIND, id).id(), lastEventId);
    }

    @PostMapping("/adaptations" + RunEndpoints.CONTROL)
    ResponseEntity<Object> control(@PathVariable("id") String id, @PathVariable("wish") String wish, Caller caller) {
        return endpoints.control(form, id, wish, caller);
    }

    @DeleteMapping("/adaptations/{id}")
    ResponseEntity<Void> delete(@PathVariable("id") String id) {
        desk.delete(KIND, id);
        return ResponseEntity.noContent().build();
    }

    @GetMapping("/adaptations/{id}/rounds/{round}/candidates/{candidate}")
    Map<String, Object> candidate(
            @PathVariable("id") String id, @PathVariable("round") int round, @PathVariable("candidate") int index) {
        RunRow run = desk.get(KIND, id);
        CandidateRow candidate = services.candidates()
                .find(id, round, index)
                .orElseThrow(() -> new PlatformException(
                        ErrorCode.NOT_FOUND, "Run " + id + " has no candidate " + round + "/" + index));
        List<EvaluationRow> evaluations = services.evaluations().all(id);
        Map<String, Object> fields = new LinkedHashMap<>(view.candidate(run, candidate, evaluations));
        fields.put("round", round);
        fields.put("reply", candidate.reply());
        fields.put("finish_reason", candidate.finishReason());
        fields.put("diff", candidate.diff());
        fields.put("questions", view.measured(candidate, evaluations));
        services.calls().find(id, round, candidate.call()).ifPresent(call -> {
            fields.put("prompt_hash", call.promptHash());
            fields.put("model", call.model());
            fields.put("weights_version", call.weightsVersion());
        });
        return fields;
    }

    @GetMapping("/adaptations/{id}/evaluations")
    Map<String, Object> evaluations(@PathVariable("id") String id, Caller caller) {
        RunRow run = desk.get(KIND, id);
        return Map.of("data", questions.evaluations(run, caller));
    }

    @GetMapping("/adaptations/{id}/questions/{item}")
    Map<String, Object> question(
            @PathVariable("id") String id,
            @PathVariable("item") String item,
            @RequestParam("harness") String harness,
            @RequestParam(name = "repeat", defaultValue = "0") int repeat,
            Caller caller) {
        return questions.question(desk.get(KIND, id), item, harness, repeat, caller);
    }
}
