package org.harnesslearning.proposer.task;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.request.Faults;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.ScorerRef;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.contracts.task.TaskSandbox;
import org.harnesslearning.store.task.TaskStore;
import org.harnesslearning.tasks.OwnItem;
import org.harnesslearning.tasks.OwnTask;
import org.harnesslearning.tasks.Scorers;
import org.harnesslearning.tasks.TaskItems;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;
import tools.jackson.databind.JsonNode;

/** Reads and finds tasks that users give. */
@Component
public class OwnTasks {
    private static final int LONGEST_DESCRIPTION = 8000;

    private final TaskStore store;
    private final TaskKits kits;
    private final Scorers scorers = Scorers.own();

    OwnTasks(TaskStore store, TaskKits kits) {
        this.store = store;
        this.kits = kits;
    }

    /**
     * A task that was read without a fault.
     *
     * @param sandbox image and tools that it names; null for none
     */
    public record Own(
            String description, ScorerRef scorer, @Nullable TaskSandbox sandbox, TaskItems items) {}

    /**
     * Reads {@code description}, {@code scorer}, {@code sandbox} and {@code items} of an object; faults are noted.
     *
     * @return null with a fault
     */
    public @Nullable Own read(Fields fields, boolean allowMissingHeldOut, Faults faults) {
        String description = fields.text("description", LONGEST_DESCRIPTION);
        if (description == null && !fields.has("description")) {
            fields.fault("description", "is missing");
        }
        ScorerRef scorer = scorer(fields, faults);
        TaskSandbox sandbox = kits.read(fields, faults);
        JsonNode given = fields.value("items");
        if (given == null) {
            fields.fault("items", "is missing");
        }
        if (given == null || scorer == null) {
            return null;
        }
        TaskItems items = items(
                () -> OwnTask.readJson(given, fields.pointer("items")),
                allowMissingHeldOut,
                scorer,
                fields.pointer("items"),
                faults);
        return description == null || items == null ? null : new Own(description, scorer, sandbox, items);
    }

    /** Reads JSON Lines; throws at once. */
    public Own readJsonl(
            String text,
            String description,
            ScorerRef scorer,
            @Nullable TaskSandbox sandbox,
            boolean allowMissingHeldOut) {
        Faults faults = new Faults();
        TaskItems items = items(() -> OwnTask.readJsonl(text, "/items"), allowMissingHeldOut, scorer, "/items", faults);
        faults.check();
        if (items == null) {
            throw new IllegalStateException("no items and no fault");
        }
        return new Own(description, scorer, sandbox, items);
    }

    private interface Reader {
        List<OwnItem> read();
    }

    private @Nullable TaskItems items(
            Reader reader, boolean allowMissingHeldOut, ScorerRef scorer, String pointer, Faults faults) {
        try {
            return OwnTask.split(reader.read(), allowMissingHeldOut, scorers.forRef(scorer), pointer);
        } catch (PlatformException e) {
            faults.add(e.errors().isEmpty() ? pointer : "", e);
            return null;
        }
    }

    /** Reads a scorer: its name, or an object with name and options. */
    private @Nullable ScorerRef scorer(Fields fields, Faults faults) {
        JsonNode given = fields.value("scorer");
        String name = "exact";
        Map<String, Object> options = Map.of();
        if (given != null && given.isString()) {
            name = given.asString();
        } else if (given != null) {
            Fields object = fields.object("scorer");
            if (object == null) {
                return null;
            }
            String named = object.text("name", 64);
            options = object.map("options");
            object.end();
            if (named == null) {
                if (!object.has("name")) {
                    object.fault("name", "is missing");
                }
                return null;
            }
            name = named;
        }
        return scorer(name, options, fields.pointer("scorer"), faults);
    }

    /** A scorer by name; faults are noted. */
    public @Nullable ScorerRef scorer(String name, Map<String, Object> options, String pointer, Faults faults) {
        try {
            return scorers.ref(name, options);
        } catch (PlatformException e) {
            faults.add(pointer, e);
            return null;
        }
    }

    /** Items of a stored task. */
    public Optional<Own> find(String id) {
        return store.find(id).map(task -> {
            Map<Split, List<Item>> items = store.items(id);
            return new Own(
                    task.description(),
                    task.scorer(),
                    task.sandbox(),
                    new TaskItems(
                            items.getOrDefault(Split.FEEDBACK, List.of()),
                            items.getOrDefault(Split.DEV, List.of()),
                            items.getOrDefault(Split.HELD_OUT, List.of())));
        });
    }

    /** The error of an unknown task. */
    public static PlatformException unknown(String id) {
        return new PlatformException(ErrorCode.NOT_FOUND, "There is no task " + id);
    }
}
