package org.harnesslearning.proposer.live;

import java.util.List;
import java.util.Objects;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.request.Faults;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.proposer.order.HarnessReader;
import org.harnesslearning.proposer.task.OwnTasks;
import org.harnesslearning.proposer.task.TaskKits;
import org.harnesslearning.store.harness.HarnessChange;
import org.harnesslearning.store.harness.HarnessName;
import org.harnesslearning.store.harness.HarnessNames;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.harness.HarnessVersion;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.run.RunStore;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;
import org.springframework.transaction.support.TransactionTemplate;
import tools.jackson.databind.JsonNode;

/**
 * Adds versions to names and makes them live. What an adaptation found is promoted only if the adaptation has succeeded,
 * its replies were no recorded ones and its gate, where it had one, passed; an admin may override the last two.
 */
@Component
class NamedHarnesses {
    private static final int MAX_NOTE = 1000;
    private static final int MAX_HISTORY = 10_000;
    private static final int MAX_VERSION = 1_000_000;

    private final HarnessNames names;
    private final HarnessStore harnesses;
    private final HarnessReader reader;
    private final OwnTasks tasks;
    private final TaskKits kits;
    private final RunStore runs;
    private final TransactionTemplate tx;
    private final List<PromotionListener> listeners;

    NamedHarnesses(
            HarnessNames names,
            HarnessStore harnesses,
            HarnessReader reader,
            OwnTasks tasks,
            TaskKits kits,
            RunStore runs,
            TransactionTemplate tx,
            List<PromotionListener> listeners) {
        this.names = names;
        this.harnesses = harnesses;
        this.reader = reader;
        this.tasks = tasks;
        this.kits = kits;
        this.runs = runs;
        this.tx = tx;
        this.listeners = List.copyOf(listeners);
    }

    /** A version and whether it is new. */
    record Added(HarnessVersion version, boolean created) {}

    /** What a request names: a source with the run that found it, or a version. */
    private record Named(
            @Nullable String source,
            @Nullable String adaptation,
            @Nullable Integer version,
            @Nullable String note,
            boolean force) {}

    /** Adds a version; one that has the same harness stays the only one. */
    Added add(String name, JsonNode body, Caller caller) {
        Named named = read(body, false, false, caller);
        return Objects.requireNonNull(tx.execute(status -> {
            names.open(name, caller.key());
            return version(name, named, caller);
        }));
    }

    /** Makes a version live, adding it where the name does not have it yet. */
    HarnessName promote(String name, JsonNode body, Caller caller) {
        Named named = read(body, true, false, caller);
        return Objects.requireNonNull(tx.execute(status -> {
            HarnessName locked = named.version() == null ? names.open(name, caller.key()) : locked(name);
            HarnessVersion version =
                    named.version() == null ? version(name, named, caller).version() : existing(name, named.version());
            if (!Integer.valueOf(version.version()).equals(locked.live())) {
                change(locked, HarnessChange.Action.PROMOTED, version, named.force(), named.note(), caller);
            }
            return names.find(name).orElseThrow();
        }));
    }

    /** Makes the version live that was so before, or a given earlier one. */
    HarnessName rollBack(String name, JsonNode body, Caller caller) {
        Named named = read(body, true, true, caller);
        return Objects.requireNonNull(tx.execute(status -> {
            HarnessName locked = locked(name);
            Integer wanted = named.version();
            if (wanted == null) {
                // The promotion of what is live tells what it replaced; rollbacks since then do not.
                wanted = names.history(name, MAX_HISTORY).stream()
                        .filter(change -> change.action() == HarnessChange.Action.PROMOTED
                                && Integer.valueOf(change.version()).equals(locked.live()))
                        .findFirst()
                        .map(HarnessChange::before)
                        .orElseThrow(() -> new PlatformException(
                                ErrorCode.INVALID_STATE, "No version of " + name + " was live before"));
            }
            HarnessVersion version = existing(name, wanted);
            if (!Integer.valueOf(version.version()).equals(locked.live())) {
                change(locked, HarnessChange.Action.ROLLED_BACK, version, false, named.note(), caller);
            }
            return names.find(name).orElseThrow();
        }));
    }

    /** Deletes a name; harnesses and runs stay. */
    void delete(String name) {
        tx.executeWithoutResult(status -> {
            if (!names.delete(name)) {
                throw unknown(name);
            }
        });
    }

    static PlatformException unknown(String name) {
        return new PlatformException(ErrorCode.NOT_FOUND, "There is no harness named " + name);
    }

    private HarnessName locked(String name) {
        return names.lock(name).orElseThrow(() -> unknown(name));
    }

    private HarnessVersion existing(String name, int version) {
        return names.version(name, version)
                .orElseThrow(() -> PlatformException.field(
                        ErrorCode.INVALID_FIELD, "/version", name + " has no version " + version));
    }

    private void change(
            HarnessName name,
            HarnessChange.Action action,
            HarnessVersion version,
            boolean forced,
            @Nullable String note,
            Caller caller) {
        names.makeLive(name, action, version.version(), forced, note, caller.key());
        listeners.forEach(listener -> listener.changed(name.name(), version, action));
    }

    private Added version(String name, Named named, Caller caller) {
        String hash = harnesses.save(Objects.requireNonNull(named.source()));
        return names.versionOf(name, hash)
                .map(found -> new Added(found, false))
                .orElseGet(
                        () -> new Added(names.add(name, hash, named.adaptation(), named.note(), caller.key()), true));
    }

    private Named read(JsonNode body, boolean versions, boolean rollback, Caller caller) {
        Faults faults = new Faults();
        Fields fields = Fields.of(body, faults);
        String note = fields.text("note", MAX_NOTE);
        Integer version = versions && fields.has("version") ? (int) fields.integer("version", 1, 1, MAX_VERSION) : null;
        if (rollback) {
            fields.end();
            faults.check();
            return new Named(null, null, version, note, false);
        }
        boolean force = versions && fields.bool("force", false);
        String adaptation = fields.text("adaptation", 64);
        boolean given = fields.has("harness");
        SandboxKit kit = kit(fields, faults);
        String source = reader.read(fields, "harness", null);
        fields.end();
        if ((given ? 1 : 0) + (adaptation == null ? 0 : 1) + (version == null ? 0 : 1) != 1) {
            faults.add(
                    "",
                    ErrorCode.INVALID_FIELD,
                    "Exactly one of harness, adaptation" + (versions ? ", version" : "") + " is needed");
        }
        faults.check();
        if (force && !caller.admin()) {
            throw new PlatformException(ErrorCode.INSUFFICIENT_SCOPE, "To override a gate takes a key of scope admin");
        }
        if (source != null) {
            reader.check(source, "/harness", Limits.DEFAULTS, kit);
        }
        if (adaptation != null) {
            source = result(adaptation, versions, force);
        }
        return new Named(source, adaptation, version, note, force);
    }

    /** What the sandboxes of the harness's task have, where the request names one. */
    private SandboxKit kit(Fields fields, Faults faults) {
        String id = fields.text("task", 64);
        if (id == null) {
            return SandboxKit.NONE;
        }
        OwnTasks.Own task = tasks.find(id).orElse(null);
        if (task == null) {
            fields.fault("task", "names no task: " + id);
            return SandboxKit.NONE;
        }
        return kits.resolve(task.sandbox(), fields.pointer("task"), faults).kit();
    }

    private String result(String id, boolean promote, boolean force) {
        RunRow run = runs.find(id)
                .filter(row -> row.kind() == RunKind.ADAPTATION)
                .orElseThrow(() -> PlatformException.field(
                        ErrorCode.INVALID_FIELD, "/adaptation", "There is no adaptation " + id));
        if (!run.state().terminal()) {
            throw new PlatformException(
                    ErrorCode.NOT_FINISHED, "The adaptation is " + run.state().json());
        }
        String hash = run.result() == null ? "" : run.result().path("harness").asString("");
        if (run.state() != RunState.SUCCEEDED || hash.isEmpty()) {
            throw new PlatformException(
                    ErrorCode.INVALID_STATE,
                    "The adaptation has no result: it is " + run.state().json());
        }
        if (promote && !force && run.recorded()) {
            throw new PlatformException(
                    ErrorCode.INVALID_STATE, "The adaptation's replies came from a file (recorded: true)");
        }
        if (promote
                && !force
                && Objects.requireNonNull(run.result())
                        .path("gate")
                        .asString("none")
                        .equals("failed")) {
            throw new PlatformException(ErrorCode.INVALID_STATE, "The adaptation's gate failed");
        }
        return harnesses.source(hash);
    }
}
