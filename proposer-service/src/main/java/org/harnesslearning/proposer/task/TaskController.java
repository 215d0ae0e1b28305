package org.harnesslearning.proposer.task;

import java.time.Clock;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.request.Faults;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.contracts.request.JsonBody;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.ScorerRef;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.revision.Prompts;
import org.harnesslearning.store.Ids;
import org.harnesslearning.store.task.TaskRow;
import org.harnesslearning.store.task.TaskStore;
import org.harnesslearning.tasks.Families;
import org.harnesslearning.tasks.Family;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** {@code /tasks}: own tasks are uploaded and read, built-in ones are listed. */
@RestController
class TaskController {
    private static final int MAX_NAME = 200;

    private final OwnTasks ownTasks;
    private final TaskKits kits;
    private final TaskStore store;
    private final Prompts prompts;
    private final TransactionTemplate tx;
    private final Ids ids;
    private final Clock clock;

    TaskController(
            OwnTasks ownTasks,
            TaskKits kits,
            TaskStore store,
            Prompts prompts,
            TransactionTemplate tx,
            Ids ids,
            Clock clock) {
        this.ownTasks = ownTasks;
        this.kits = kits;
        this.store = store;
        this.prompts = prompts;
        this.tx = tx;
        this.ids = ids;
        this.clock = clock;
    }

    @PostMapping(path = "/tasks", consumes = MediaType.APPLICATION_JSON_VALUE)
    ResponseEntity<Object> json(@RequestBody byte[] body, Caller caller) {
        Faults faults = new Faults();
        Fields fields = Fields.of(JsonBody.object(body), faults);
        String name = fields.text("name", MAX_NAME);
        boolean allowMissing = fields.bool("allow_missing_held_out", false);
        OwnTasks.Own own = ownTasks.read(fields, allowMissing, faults);
        fields.end();
        faults.check();
        if (own == null) {
            throw new IllegalStateException("no task and no fault");
        }
        return created(name, own, caller);
    }

    @PostMapping(
            path = "/tasks",
            consumes = {"application/jsonl", "application/x-ndjson", "application/x-jsonlines"})
    ResponseEntity<Object> jsonl(
            @RequestBody byte[] body,
            @RequestParam("description") String description,
            @RequestParam(name = "scorer", defaultValue = "exact") String scorer,
            @RequestParam(name = "name", required = false) @Nullable String name,
            @RequestParam(name = "image", required = false) @Nullable String image,
            @RequestParam(name = "tools", required = false) @Nullable String tools,
            @RequestParam(name = "allow_missing_held_out", defaultValue = "false") boolean allowMissing,
            Caller caller) {
        Faults faults = new Faults();
        ScorerRef ref = ownTasks.scorer(scorer, Map.of(), "/scorer", faults);
        if (description.isBlank()) {
            faults.add("/description", ErrorCode.INVALID_FIELD, "Field description is blank");
        }
        faults.check();
        if (ref == null) {
            throw new IllegalStateException("no scorer and no fault");
        }
        return created(
                name,
                ownTasks.readJsonl(JsonBody.text(body), description, ref, kits.read(image, tools), allowMissing),
                caller);
    }

    private ResponseEntity<Object> created(@Nullable String name, OwnTasks.Own own, Caller caller) {
        TaskRow task = new TaskRow(
                ids.next("tsk"),
                TaskRow.ITEMS,
                name,
                own.description(),
                own.scorer(),
                own.sandbox(),
                caller.key(),
                clock.instant());
        Map<Split, List<Item>> items = new EnumMap<>(Split.class);
        for (Split split : Split.values()) {
            items.put(split, own.items().of(split));
        }
        tx.executeWithoutResult(status -> store.insert(task, items));
        return ResponseEntity.status(HttpStatus.CREATED)
                .header(HttpHeaders.LOCATION, "/tasks/" + task.id())
                .body(own(task, items, caller));
    }

    @GetMapping("/tasks")
    Map<String, Object> list(
            @RequestParam(name = "limit", defaultValue = "100") int limit,
            @RequestParam(name = "cursor", required = false) @Nullable String cursor,
            Caller caller) {
        if (limit < 1 || limit > 100) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "limit must be from 1 to 100");
        }
        List<TaskRow> found = store.newest(cursor == null ? "tsk_~" : cursor, limit + 1);
        List<TaskRow> page = found.size() > limit ? found.subList(0, limit) : found;
        List<Object> data = new ArrayList<>();
        page.forEach(task -> data.add(own(task, store.items(task.id()), caller)));
        if (found.size() <= limit) {
            Families.all().forEach(family -> data.add(builtIn(family)));
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("data", data);
        answer.put("next_cursor", found.size() > limit ? page.getLast().id() : null);
        return answer;
    }

    @GetMapping("/tasks/{id}")
    Map<String, Object> get(@PathVariable("id") String id, Caller caller) {
        if (Families.find(id).isPresent()) {
            return builtIn(Families.get(id));
        }
        TaskRow task = store.find(id).orElseThrow(() -> OwnTasks.unknown(id));
        return own(task, store.items(id), caller);
    }

    private static Map<String, Object> own(TaskRow task, Map<Split, List<Item>> items, Caller caller) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("id", task.id());
        view.put("kind", task.kind());
        view.put("name", task.name());
        view.put("description", task.description());
        view.put("scorer", task.scorer());
        if (task.sandbox() != null) {
            view.put("sandbox", task.sandbox());
        }
        Map<String, Object> splits = new LinkedHashMap<>();
        items.forEach((split, list) -> splits.put(split.json(), split(split, list, caller)));
        view.put("splits", splits);
        view.put("created_at", task.createdAt());
        return view;
    }

    /** Held-out questions are shown to scope admin only. */
    private static Map<String, Object> split(Split split, List<Item> items, Caller caller) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("count", items.size());
        view.put("hashes", items.stream().map(Item::hash).toList());
        if (split != Split.HELD_OUT || caller.admin()) {
            view.put(
                    "items",
                    items.stream()
                            .map(item -> Map.of("question", item.question(), "answer", item.answers()))
                            .toList());
        }
        return view;
    }

    private Map<String, Object> builtIn(Family family) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("id", family.name());
        view.put("kind", "reasoning_gym");
        view.put("name", family.name());
        view.put("category", family.category());
        view.put("role", family.role().name().toLowerCase(Locale.ROOT));
        view.put("description", prompts.description(family.name()));
        return view;
    }
}
