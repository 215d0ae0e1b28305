package org.harnesslearning.trainer.run;

import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.request.Preconditions;
import org.harnesslearning.contracts.web.StoredEvents;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.training.TrainingRunRow;
import org.harnesslearning.trainer.TrainerProperties;
import org.jspecify.annotations.Nullable;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
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

/** Training runs over HTTP. */
@RestController
class TrainingController {
    private final TrainingOrders orders;
    private final TrainingDesk desk;
    private final TrainingView view;
    private final CheckpointVersions versions;
    private final TrainingServices services;
    private final TrainerProperties properties;
    private final StoredEvents streams;

    TrainingController(
            TrainingOrders orders,
            TrainingDesk desk,
            TrainingView view,
            CheckpointVersions versions,
            TrainingServices services,
            TrainerProperties properties) {
        this.orders = orders;
        this.desk = desk;
        this.view = view;
        this.versions = versions;
        this.services = services;
        this.properties = properties;
        this.streams = new StoredEvents(properties.eventPoll(), properties.heartbeat());
    }

    @EventListener(ContextClosedEvent.class)
    void close() {
        streams.close();
    }

    @PostMapping(path = "/training-runs", consumes = MediaType.APPLICATION_JSON_VALUE)
    ResponseEntity<Object> order(
            @RequestBody byte[] body,
            @RequestHeader(name = "Prefer", required = false) @Nullable String prefer,
            @RequestHeader(name = "Idempotency-Key", required = false) @Nullable String key,
            Caller caller) {
        TrainingRunRow ordered = orders.order(body, caller, key);
        TrainingRunRow run = desk.await(ordered.id(), Preconditions.wait(prefer, Duration.ZERO, properties.maxWait()));
        return answer(run.state().terminal() ? HttpStatus.OK : HttpStatus.ACCEPTED, run);
    }

    @GetMapping("/training-runs")
    Map<String, Object> list(
            @RequestParam(name = "state", required = false) @Nullable String state,
            @RequestParam(name = "kind", required = false) @Nullable String kind,
            @RequestParam(name = "limit", defaultValue = "20") int limit,
            @RequestParam(name = "cursor", required = false) @Nullable String cursor) {
        if (limit < 1 || limit > 100) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "limit must be from 1 to 100");
        }
        if (cursor != null && !cursor.matches("trn_[0-9a-z]{26}")) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "cursor is not one that a list gave");
        }
        if (kind != null
                && Arrays.stream(TrainingKind.values()).noneMatch(k -> k.json().equals(kind))) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "kind is none of sft, grpo, multistep");
        }
        List<TrainingRunRow> runs = services.runs().newest(state(state), kind, cursor, limit + 1);
        List<TrainingRunRow> page = runs.size() > limit ? runs.subList(0, limit) : runs;
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("data", page.stream().map(view::head).toList());
        answer.put("next_cursor", runs.size() > limit ? page.getLast().id() : null);
        return answer;
    }

    private static @Nullable RunState state(@Nullable String name) {
        if (name == null) {
            return null;
        }
        return Arrays.stream(RunState.values())
                .filter(state -> state.json().equals(name))
                .findFirst()
                .orElseThrow(() -> new PlatformException(
                        ErrorCode.INVALID_FIELD,
                        "state is none of queued, running, paused, succeeded, failed, cancelled"));
    }

    @GetMapping("/training-runs/{id}")
    ResponseEntity<Object> get(
            @PathVariable("id") String id,
            @RequestHeader(name = HttpHeaders.IF_NONE_MATCH, required = false) @Nullable String ifNoneMatch) {
        TrainingRunRow run = desk.get(id);
        if (Preconditions.unchanged(ifNoneMatch, tag(run))) {
            return ResponseEntity.status(HttpStatus.NOT_MODIFIED)
                    .header(HttpHeaders.ETAG, tag(run))
                    .build();
        }
        return ResponseEntity.ok().header(HttpHeaders.ETAG, tag(run)).body(view.whole(run));
    }

    @GetMapping(path = "/training-runs/{id}/events", produces = MediaType.TEXT_EVENT_STREAM_VALUE)
    SseEmitter events(
            @PathVariable("id") String id,
            @RequestHeader(name = "Last-Event-ID", required = false) @Nullable String lastEventId) {
        return streams.open(desk.get(id).id(), lastEventId, new StoredEvents.Source() {
            @Override
            public List<StoredEvents.Event> after(long after, int limit) {
                return services.runs().events(id, after, limit).stream()
                        .map(event -> new StoredEvents.Event(
                                event.id(),
                                event.type(),
                                Json.write(event.data()),
                                event.type().equals(TrainingServices.FINISHED)))
                        .toList();
            }

            @Override
            public boolean over() {
                return services.runs()
                        .find(id)
                        .map(run -> run.state().terminal())
                        .orElse(true);
            }
        });
    }

    @GetMapping("/training-runs/{id}/metrics")
    Map<String, Object> metrics(
            @PathVariable("id") String id,
            @RequestParam(name = "after", defaultValue = "0") long after,
            @RequestParam(name = "limit", defaultValue = "1000") int limit) {
        if (limit < 1 || limit > 10_000 || after < 0) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "limit must be from 1 to 10000, after at least 0");
        }
        desk.get(id);
        return view.metrics(services.runs().metrics(id, after, limit), limit);
    }

    @PostMapping("/training-runs/{id}/cancel")
    ResponseEntity<Object> cancel(@PathVariable("id") String id) {
        return answer(HttpStatus.ACCEPTED, desk.cancel(id));
    }

    @PostMapping("/training-runs/{id}/pause")
    ResponseEntity<Object> pause(@PathVariable("id") String id) {
        return answer(HttpStatus.ACCEPTED, desk.pause(id));
    }

    @PostMapping("/training-runs/{id}/resume")
    ResponseEntity<Object> resume(@PathVariable("id") String id) {
        return answer(HttpStatus.ACCEPTED, desk.resume(id));
    }

    /** Makes a version of what a run that has not come to its end has saved. */
    @PostMapping("/training-runs/{id}/publish")
    Map<String, Object> publish(@PathVariable("id") String id) {
        return versions.publish(desk.get(id));
    }

    @DeleteMapping("/training-runs/{id}")
    ResponseEntity<Void> delete(@PathVariable("id") String id) {
        desk.delete(id);
        return ResponseEntity.noContent().build();
    }

    private ResponseEntity<Object> answer(HttpStatus status, TrainingRunRow run) {
        return ResponseEntity.status(status)
                .header(HttpHeaders.LOCATION, "/training-runs/" + run.id())
                .header(HttpHeaders.ETAG, tag(run))
                .body(view.whole(run));
    }

    private static String tag(TrainingRunRow run) {
        return "\"" + run.version() + "\"";
    }
}
