package org.harnesslearning.proposer.order;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.proposer.ProposerProperties;
import org.harnesslearning.proposer.run.RunDesk;
import org.harnesslearning.proposer.run.RunHttp;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunState;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.stereotype.Component;

/** Ordering, lists, reading and control over HTTP, the same for every kind of run. */
@Component
public class RunEndpoints {
    /** Where a run is controlled, below the path of its kind; the last part is {@code wish} of {@link #control}. */
    public static final String CONTROL = "/{id}/{wish:cancel|pause|resume}";

    private final Orders orders;
    private final RunDesk desk;
    private final ProposerProperties properties;

    RunEndpoints(Orders orders, RunDesk desk, ProposerProperties properties) {
        this.orders = orders;
        this.desk = desk;
        this.properties = properties;
    }

    /**
     * How a kind of run looks over HTTP.
     *
     * @param path path of all runs of this kind, such as {@code /revisions}
     * @param patience wait for the end of a new run where the request has no {@code Prefer} header
     * @param resource the answer's body, as a caller may see it
     * @param entry the same in a list of many
     */
    public record Form(
            RunKind kind,
            String path,
            Duration patience,
            BiFunction<RunRow, Caller, ? extends Object> resource,
            BiFunction<RunRow, Caller, ? extends Object> entry) {}

    /**
     * Which runs of a list.
     *
     * @param state name of a {@link RunState}; null for all
     * @param task family or task id; null for all
     * @param limit how many at most, 1 to 100
     * @param cursor {@code next_cursor} of the page before; null for the first
     */
    public record Page(
            @Nullable String state,
            @Nullable String task,
            int limit,
            @Nullable String cursor) {}

    /**
     * Orders a run and waits for it as long as the caller likes: 200 when it has ended, else 202.
     *
     * @throws PlatformException with the code of each fault; nothing is stored then
     */
    public ResponseEntity<Object> order(
            Form form, byte[] body, @Nullable String prefer, @Nullable String idempotencyKey, Caller caller) {
        RunRow run = orders.order(form.kind(), body, caller, idempotencyKey);
        RunRow now = desk.await(form.kind(), run.id(), RunHttp.wait(prefer, form.patience(), properties.maxWait()));
        return RunHttp.ordered(
                now, caller, form.path() + "/" + run.id(), form.resource().apply(now, caller));
    }

    /**
     * Runs of a kind, newest first.
     *
     * @throws PlatformException INVALID_FIELD
     */
    public Map<String, Object> list(Form form, Page page, Caller caller) {
        int limit = page.limit();
        if (limit < 1 || limit > 100) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "limit must be from 1 to 100");
        }
        if (page.cursor() != null && !page.cursor().matches(form.kind().prefix() + "_[0-9a-z]{26}")) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "cursor is not one that a list gave");
        }
        List<RunRow> runs = desk.newest(form.kind(), state(page.state()), page.task(), page.cursor(), limit + 1);
        List<RunRow> shown = runs.size() > limit ? runs.subList(0, limit) : runs;
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put(
                "data",
                shown.stream().map(run -> form.entry().apply(run, caller)).toList());
        answer.put("next_cursor", runs.size() > limit ? shown.getLast().id() : null);
        return answer;
    }

    private static @Nullable RunState state(@Nullable String name) {
        if (name == null) {
            return null;
        }
        for (RunState state : RunState.values()) {
            if (state.json().equals(name)) {
                return state;
            }
        }
        throw new PlatformException(
                ErrorCode.INVALID_FIELD, "state is none of queued, running, paused, succeeded, failed, cancelled");
    }

    /**
     * A run, or 304 when the caller has it.
     *
     * @throws PlatformException NOT_FOUND
     */
    public ResponseEntity<Object> read(Form form, String id, @Nullable String ifNoneMatch, Caller caller) {
        RunRow run = desk.get(form.kind(), id);
        return RunHttp.read(run, caller, ifNoneMatch, () -> form.resource().apply(run, caller));
    }

    /**
     * Cancels, pauses or resumes a run: 202 with the run as it stands then, since a worker that has it leaves it at its next
     * unit of work.
     *
     * @param wish {@code cancel}, {@code pause} or {@code resume}
     * @throws PlatformException NOT_FOUND; INVALID_STATE when the run's state does not allow it
     */
    public ResponseEntity<Object> control(Form form, String id, String wish, Caller caller) {
        RunRow run = switch (wish) {
            case "cancel" -> desk.cancel(form.kind(), id);
            case "pause" -> desk.pause(form.kind(), id);
            case "resume" -> desk.resume(form.kind(), id);
            default -> throw new PlatformException(ErrorCode.NOT_FOUND, "A run can't be told to " + wish);
        };
        return ResponseEntity.status(HttpStatus.ACCEPTED)
                .header(HttpHeaders.LOCATION, form.path() + "/" + run.id())
                .header(HttpHeaders.ETAG, RunHttp.tag(run, caller))
                .body(form.resource().apply(run, caller));
    }
}
