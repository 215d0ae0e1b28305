package org.harnesslearning.trainer.run;

import com.github.kagkarlsson.scheduler.SchedulerClient;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.request.Faults;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.contracts.request.JsonBody;
import org.harnesslearning.store.Ids;
import org.harnesslearning.store.model.ModelVersionRow;
import org.harnesslearning.store.model.ModelVersionStore;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.training.TrainingRunRow;
import org.harnesslearning.store.training.TrainingRunStore;
import org.harnesslearning.tasks.Families;
import org.harnesslearning.tasks.Family;
import org.harnesslearning.trainer.TrainerProperties;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.stereotype.Component;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Takes orders for training runs: every check comes before the one transaction that stores the run with its job. */
@Component
class TrainingOrders {
    private static final int MAX_LABELS = 32;

    private final TrainingServices services;
    private final TrainerProperties properties;
    private final ModelVersionStore versions;
    private final SchedulerClient scheduler;
    private final Ids ids;
    private final Map<TrainingKind, TrainingMethod> methods = new EnumMap<>(TrainingKind.class);

    TrainingOrders(
            TrainingServices services,
            TrainerProperties properties,
            ModelVersionStore versions,
            SchedulerClient scheduler,
            Ids ids,
            ObjectProvider<TrainingMethod> methods) {
        this.services = services;
        this.properties = properties;
        this.versions = versions;
        this.scheduler = scheduler;
        this.ids = ids;
        methods.orderedStream().forEach(method -> this.methods.putIfAbsent(method.kind(), method));
    }

    /**
     * Orders a run.
     *
     * @param idempotencyKey header of that name; the same key with an equal body gives the same run again
     * @throws PlatformException with the code of each fault; nothing is stored then
     */
    TrainingRunRow order(byte[] body, Caller caller, @Nullable String idempotencyKey) {
        JsonNode json = JsonBody.object(body);
        TrainingRunStore.Once once = once(idempotencyKey, caller, json);
        Optional<TrainingRunRow> earlier = earlier(once);
        if (earlier.isPresent()) {
            return earlier.get();
        }
        RunSettings settings = read(json);
        TrainingRunRow run = new TrainingRunRow(
                ids.next("trn"),
                settings.kind().json(),
                settings.name(),
                settings.baseModel(),
                RunState.QUEUED,
                null,
                null,
                null,
                Json.mapper().valueToTree(settings),
                null,
                caller.key(),
                services.clock().instant(),
                null,
                null,
                0,
                0,
                settings.budget().steps(),
                1);
        boolean made = Boolean.TRUE.equals(services.tx().execute(status -> {
            if (!services.runs().insert(run, once)) {
                return false;
            }
            services.runs().event(run.id(), "state", Map.of("state", RunState.QUEUED));
            TrainingJob.schedule(
                    scheduler, services.runs().get(run.id()), services.clock().instant());
            return true;
        }));
        return made ? services.runs().get(run.id()) : earlier(once).orElseThrow();
    }

    private static TrainingRunStore.@Nullable Once once(@Nullable String key, Caller caller, JsonNode body) {
        if (key == null) {
            return null;
        }
        if (key.isBlank() || key.length() > 255) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "Idempotency-Key must be text of 1 to 255 characters");
        }
        return new TrainingRunStore.Once(caller.key(), key, Hashes.json(body));
    }

    private Optional<TrainingRunRow> earlier(TrainingRunStore.@Nullable Once once) {
        if (once == null) {
            return Optional.empty();
        }
        return services.runs().made(once.owner(), once.key()).map(made -> {
            if (!made.requestHash().equals(once.requestHash())) {
                throw new PlatformException(
                        ErrorCode.IDEMPOTENCY_MISMATCH, "This Idempotency-Key was used with another request");
            }
            return services.runs().get(made.run());
        });
    }

    private RunSettings read(JsonNode body) {
        Faults faults = new Faults();
        Fields fields = Fields.of(body, faults);
        TrainingMethod method = method(fields);
        String name = fields.text("name", 200);
        String base = base(fields);
        List<String> families = families(fields);
        JsonNode settings = settings(fields, method, faults);
        TrainingContext.Budget budget = budget(fields);
        long seed = fields.integer("seed", 1, 0, Integer.MAX_VALUE);
        int every = (int) fields.integer("checkpoint_every", 10, 1, 1_000_000);
        String parent = parent(fields, base);
        Map<String, String> labels = fields.labels("labels", MAX_LABELS);
        fields.end();
        faults.check();
        return new RunSettings(
                Objects.requireNonNull(method).kind(),
                name,
                Objects.requireNonNull(base),
                families,
                Objects.requireNonNull(settings),
                budget,
                seed,
                every,
                parent,
                labels);
    }

    private @Nullable TrainingMethod method(Fields fields) {
        if (!fields.has("kind")) {
            fields.fault("kind", "is missing; this trainer does " + kinds());
            return null;
        }
        TrainingMethod method = methods.get(fields.choice("kind", TrainingKind.class, TrainingKind.SFT));
        if (method == null) {
            fields.fault("kind", "is not one of those that this trainer does: " + kinds());
        }
        return method;
    }

    private String kinds() {
        return methods.keySet().stream().map(TrainingKind::json).collect(Collectors.joining(", "));
    }

    private @Nullable String base(Fields fields) {
        String base = fields.text("base_model", 200);
        if (base == null) {
            if (!fields.has("base_model")) {
                fields.fault("base_model", "is missing");
            }
        } else if (!properties.checkpoints().containsKey(base)) {
            fields.fault(
                    "base_model",
                    ErrorCode.UNKNOWN_MODEL,
                    "names no model that this trainer has a checkpoint of: " + base + "; it has "
                            + properties.checkpoints().keySet().stream()
                                    .sorted()
                                    .collect(Collectors.joining(", ")));
        }
        return base;
    }

    private static List<String> families(Fields fields) {
        List<String> trained =
                Families.of(Family.Role.TRAIN).stream().map(Family::name).toList();
        JsonNode value = fields.value("families");
        if (value == null) {
            return trained;
        }
        if (!value.isArray() || value.isEmpty()) {
            fields.fault("families", "must be an array of at least one name");
            return trained;
        }
        List<String> families = new ArrayList<>();
        for (JsonNode name : value) {
            if (!name.isString() || !trained.contains(name.asString()) || families.contains(name.asString())) {
                fields.fault(
                        "families",
                        name.isString()
                                        && Families.all().stream()
                                                .noneMatch(f -> f.name().equals(name.asString()))
                                ? ErrorCode.UNKNOWN_FAMILY
                                : ErrorCode.INVALID_FIELD,
                        "has " + name + ", which is no family that may be trained on, or comes twice");
                return trained;
            }
            families.add(name.asString());
        }
        return families;
    }

    private static @Nullable JsonNode settings(Fields fields, @Nullable TrainingMethod method, Faults faults) {
        JsonNode value = fields.value("method");
        if (value != null && !value.isObject()) {
            fields.fault("method", "must be an object");
            return null;
        }
        if (method == null) {
            return null;
        }
        ObjectNode given = value == null ? Json.mapper().createObjectNode() : (ObjectNode) value;
        try {
            return Json.mapper().valueToTree(method.settings(given));
        } catch (PlatformException e) {
            faults.add("/method", e);
            return null;
        }
    }

    private static TrainingContext.Budget budget(Fields fields) {
        Fields budget = fields.object("budget");
        if (budget == null) {
            return new TrainingContext.Budget(100, 86_400, 1_000_000, 1_000_000_000);
        }
        TrainingContext.Budget read = new TrainingContext.Budget(
                budget.integer("steps", 100, 1, 10_000_000),
                budget.integer("wall_clock_s", 86_400, 1, 31_536_000),
                budget.integer("solver_calls", 1_000_000, 1, 1_000_000_000),
                budget.integer("tokens", 1_000_000_000, 1, 1_000_000_000_000L));
        budget.end();
        return read;
    }

    private @Nullable String parent(Fields fields, @Nullable String base) {
        String parent = fields.text("parent", 80);
        if (parent == null) {
            return null;
        }
        ModelVersionRow version = versions.find(parent).orElse(null);
        if (version == null) {
            fields.fault("parent", "names no version of the model registry");
        } else if (!version.base().equals(base)) {
            fields.fault("parent", "is a version of " + version.base() + ", another base model");
        }
        return parent;
    }
}
