package org.harnesslearning.proposer.order;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.ExecutorApi;
import org.harnesslearning.contracts.execution.GenerateRequest;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.contracts.request.JsonBody;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.ScorerRef;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.prompt.Demonstration;
import org.harnesslearning.proposer.revision.Prompts;
import org.harnesslearning.proposer.run.RunDesk;
import org.harnesslearning.proposer.run.RunPlan;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.proposer.run.RunTraces;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.Ids;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.tasks.ReasoningGym;
import org.harnesslearning.tasks.SplitSizes;
import org.harnesslearning.tasks.TaskItems;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClientException;
import tools.jackson.databind.JsonNode;

/** Takes orders for runs: every check comes before the one transaction that stores the run with its job. */
@Component
public class Orders {
    private final OrderReader reader;
    private final HarnessReader harnesses;
    private final RunDesk desk;
    private final RunServices services;
    private final ExecutorApi executor;
    private final Prompts prompts;
    private final Ids ids;
    private final RunTraces traces;

    Orders(
            OrderReader reader,
            HarnessReader harnesses,
            RunDesk desk,
            RunServices services,
            ExecutorApi executor,
            Prompts prompts,
            Ids ids,
            RunTraces traces) {
        this.reader = reader;
        this.harnesses = harnesses;
        this.desk = desk;
        this.services = services;
        this.executor = executor;
        this.prompts = prompts;
        this.ids = ids;
        this.traces = traces;
    }

    /**
     * Orders a run.
     *
     * @param idempotencyKey header of that name; the same key with an equal body gives the same run again
     * @throws PlatformException with the code of each fault; nothing is stored then
     */
    public RunRow order(RunKind kind, byte[] body, Caller caller, @Nullable String idempotencyKey) {
        JsonNode json = JsonBody.object(body);
        RunDesk.Once once = idempotencyKey == null
                ? null
                : new RunDesk.Once(
                        caller.key(), plain(idempotencyKey), Hashes.json(Map.of("kind", kind, "body", json)));
        RunRow earlier = desk.earlier(once).orElse(null);
        if (earlier != null) {
            return earlier;
        }
        Order order = reader.read(kind, json);
        TaskItems items = items(order);
        if (kind == RunKind.ADAPTATION && items.heldOut().isEmpty() && !order.allowMissingHeldOut()) {
            throw PlatformException.field(
                    ErrorCode.MISSING_HELD_OUT,
                    "/splits/held_out",
                    "There are no held-out questions; say \"allow_missing_held_out\": true to go without");
        }
        List<String> regression = regression(order, items);
        checkReport(order, items);
        checkBudget(kind, order, items);
        harnesses.check(order.harness(), "/harness/source", order.limits(), order.kit());
        if (order.baseline() != null) {
            harnesses.check(order.baseline(), "/baseline/source", order.limits(), order.kit());
        }
        RunSettings settings = settings(order, items, regression);
        RunRow run = row(kind, order, items, settings, caller);
        Map<Split, List<Item>> bySplit = new EnumMap<>(Split.class);
        for (Split split : Split.values()) {
            bySplit.put(split, items.of(split));
        }
        return desk.order(
                run,
                settings,
                bySplit,
                order.harness(),
                Stream.concat(
                                order.demonstrations().stream().map(Demonstration::result),
                                Stream.ofNullable(order.baseline()))
                        .toList(),
                once);
    }

    private static String plain(String key) {
        if (key.isBlank() || key.length() > 255) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "Idempotency-Key must be text of 1 to 255 characters");
        }
        return key;
    }

    private TaskItems items(Order order) {
        return switch (order.task()) {
            case TaskSource.BuiltIn builtIn -> generated(builtIn, order.sizes());
            case TaskSource.Stored stored -> limited(stored.items(), order.sizes());
            case TaskSource.Inline inline -> limited(inline.items(), order.sizes());
        };
    }

    private TaskItems generated(TaskSource.BuiltIn task, @Nullable SplitSizes sizes) {
        try {
            return ReasoningGym.split(
                    task.seed(),
                    sizes == null ? SplitSizes.DEFAULTS : sizes,
                    (seed, start, count) -> executor.generate(
                                    new GenerateRequest(task.family().name(), task.config(), seed, start, count))
                            .items());
        } catch (RestClientException e) {
            throw unreachable(e);
        } catch (PlatformException e) {
            if (e.code() == ErrorCode.INVALID_FIELD && e.errors().isEmpty()) {
                throw PlatformException.field(
                        ErrorCode.INVALID_FIELD, "/task/reasoning_gym/config", String.valueOf(e.getMessage()));
            }
            throw e;
        }
    }

    /**
     * The first items of each split: as many as asked for, else at most the default numbers. Items of the regression set
     * come first, so that a limit leaves none of them out while there is room.
     */
    private static TaskItems limited(TaskItems all, @Nullable SplitSizes sizes) {
        TaskItems items = new TaskItems(all.feedback(), anchorsFirst(all.dev()), anchorsFirst(all.heldOut()));
        if (sizes == null) {
            return items.limit(SplitSizes.DEFAULTS);
        }
        List<FieldError> errors = Arrays.stream(Split.values())
                .filter(split -> sizes.of(split) > items.of(split).size())
                .map(split -> new FieldError(
                        "/splits/" + split.json(),
                        ErrorCode.INVALID_FIELD,
                        "The task has only " + items.of(split).size() + " questions of this split"))
                .toList();
        if (!errors.isEmpty()) {
            throw PlatformException.fields(errors);
        }
        return items.limit(sizes);
    }

    private static List<Item> anchorsFirst(List<Item> items) {
        return Stream.concat(
                        items.stream().filter(Orders::anchor), items.stream().filter(item -> !anchor(item)))
                .toList();
    }

    private static boolean anchor(Item item) {
        return item.mark() != null && item.mark().regression();
    }

    /** Hashes of the items that must not flip to wrong: those that the request names and those that the task marks. */
    private static List<String> regression(Order order, TaskItems items) {
        Map<String, Item> byName = new HashMap<>();
        Set<String> hashes = new LinkedHashSet<>();
        List<Split> splits = order.split() == null ? List.of(Split.DEV, Split.HELD_OUT) : List.of(order.split());
        splits.stream().flatMap(split -> items.of(split).stream()).forEach(item -> {
            byName.put(item.hash(), item);
            if (item.mark() != null && item.mark().id() != null) {
                byName.putIfAbsent(item.mark().id(), item);
            }
            if (anchor(item) && (order.split() == null || order.baseline() != null)) {
                hashes.add(item.hash());
            }
        });
        List<FieldError> errors = new ArrayList<>();
        for (int i = 0; i < order.regression().size(); i++) {
            Item item = byName.get(order.regression().get(i));
            if (item == null) {
                errors.add(new FieldError(
                        "/regression/" + i,
                        ErrorCode.INVALID_FIELD,
                        "names no item of this run in "
                                + splits.stream().map(Split::json).collect(Collectors.joining(" or "))));
            } else {
                hashes.add(item.hash());
            }
        }
        if (errors.isEmpty() && !order.regression().isEmpty() && order.split() != null && order.baseline() == null) {
            errors.add(new FieldError(
                    "/regression", ErrorCode.INVALID_FIELD, "An evaluation needs a baseline to tell what flipped"));
        }
        if (!errors.isEmpty()) {
            throw PlatformException.fields(errors);
        }
        return List.copyOf(hashes);
    }

    private static void checkReport(Order order, TaskItems items) {
        List<QuestionResult> report = order.report();
        if (report == null) {
            return;
        }
        List<String> hashes = items.feedback().stream().map(Item::hash).toList();
        for (int i = 0; i < report.size(); i++) {
            if (!hashes.contains(report.get(i).itemHash())) {
                throw PlatformException.field(
                        ErrorCode.INVALID_FIELD,
                        "/report/" + i + "/item_hash",
                        "The result is not of a feedback question of this task");
            }
        }
    }

    /** One call a question for the baseline, one candidate a round, and the final measurement must fit. */
    private static void checkBudget(RunKind kind, Order order, TaskItems items) {
        long dev = items.dev().size();
        long feedback = order.report() == null ? items.feedback().size() : 0;
        long evaluated = Boolean.FALSE.equals(order.evaluate()) ? 0 : dev;
        long least = switch (kind) {
            case ADAPTATION ->
                dev
                        + Objects.requireNonNull(order.rounds()) * (feedback + dev)
                        + 3L * items.heldOut().size();
            case REVISION -> feedback + evaluated;
            case EVALUATION -> evaluated(order, items);
        };
        if (order.budget().solverCalls() < least) {
            throw PlatformException.field(
                    ErrorCode.BUDGET_TOO_SMALL,
                    "/budget/solver_calls",
                    "The run needs at least " + least
                            + " solver calls, one for each question of its least work; the budget is "
                            + order.budget().solverCalls());
        }
    }

    private static PlatformException unreachable(RestClientException e) {
        return new PlatformException(ErrorCode.SANDBOX_UNAVAILABLE, "The executor can't be reached", e);
    }

    private RunSettings settings(Order order, TaskItems items, List<String> regression) {
        Map<Split, RunSettings.ItemsSummary> summaries = new EnumMap<>(Split.class);
        for (Split split : Split.values()) {
            summaries.put(split, RunSettings.ItemsSummary.of(items.of(split)));
        }
        RunSettings.TaskSettings task = switch (order.task()) {
            case TaskSource.BuiltIn builtIn ->
                new RunSettings.TaskSettings(
                        new RunSettings.ReasoningGym(builtIn.family().name(), builtIn.seed(), builtIn.config()),
                        null,
                        null);
            case TaskSource.Stored stored -> new RunSettings.TaskSettings(null, stored.id(), null);
            case TaskSource.Inline inline ->
                new RunSettings.TaskSettings(null, null, new RunSettings.Inline(inline.description(), inline.scorer()));
        };
        return new RunSettings(
                task,
                order.task().sandbox(),
                new RunSettings.HarnessSettings(Hashes.harness(order.harness())),
                summaries,
                new RunSettings.Splits(
                        items.feedback().size(),
                        items.dev().size(),
                        items.heldOut().size()),
                order.candidates(),
                order.rounds(),
                order.selection(),
                order.proposer(),
                order.evaluate(),
                order.split(),
                order.repeat(),
                order.baseline() == null ? null : new RunSettings.HarnessSettings(Hashes.harness(order.baseline())),
                order.solver(),
                order.limits(),
                order.budget(),
                order.gate(),
                regression.isEmpty() ? null : regression,
                order.seed(),
                order.labels(),
                order.allowMissingHeldOut(),
                order.proposer() == null ? null : prompts.versions());
    }

    private RunRow row(RunKind kind, Order order, TaskItems items, RunSettings settings, Caller caller) {
        String description;
        ScorerRef scorer;
        String taskKind;
        String taskName;
        String family = null;
        switch (order.task()) {
            case TaskSource.BuiltIn builtIn -> {
                family = builtIn.family().name();
                description = prompts.description(family);
                scorer = ReasoningGym.scorer(builtIn.family(), builtIn.config());
                taskKind = "reasoning_gym";
                taskName = family;
            }
            case TaskSource.Stored stored -> {
                description = stored.description();
                scorer = stored.scorer();
                taskKind = "items";
                taskName = stored.id();
            }
            case TaskSource.Inline inline -> {
                description = inline.description();
                scorer = inline.scorer();
                taskKind = "items";
                taskName = "inline";
            }
        }
        ModelInfo proposer = order.proposerModel();
        RunPlan plan = new RunPlan(
                description,
                family,
                scorer,
                proposer,
                order.solverModel(),
                order.kit().answersHash(order.solver().hash(order.solverModel().identity())),
                order.demonstrations().stream()
                        .map(demonstration ->
                                new RunPlan.Demonstrated(demonstration.name(), Hashes.harness(demonstration.result())))
                        .toList(),
                order.report(),
                traces.origin(),
                order.task().sandbox() == null ? null : order.kit());
        boolean recorded = order.solverModel().kind() == ModelInfo.Kind.RECORDED
                || (proposer != null && proposer.kind() == ModelInfo.Kind.RECORDED);
        return new RunRow(
                ids.next(kind.prefix()),
                kind,
                HarnessStore.PROGRAM,
                taskKind,
                taskName,
                RunState.QUEUED,
                null,
                null,
                null,
                Json.mapper().valueToTree(settings),
                Json.mapper().valueToTree(plan),
                Hashes.harness(order.harness()),
                recorded,
                null,
                null,
                caller.key(),
                services.clock().instant(),
                null,
                0,
                0,
                planned(kind, order, items),
                0,
                1);
    }

    /** Solver calls as planned before any is made: one for each question that may be asked. */
    private static long planned(RunKind kind, Order order, TaskItems items) {
        long dev = items.dev().size();
        long feedback = order.report() == null ? items.feedback().size() : 0;
        long evaluated = Boolean.FALSE.equals(order.evaluate()) ? 0 : dev;
        int candidates = order.candidates() == null ? 0 : order.candidates();
        return switch (kind) {
            case ADAPTATION ->
                dev
                        + Objects.requireNonNull(order.rounds()) * (feedback + candidates * dev)
                        + (order.demonstrations().isEmpty() ? 3L : 4L)
                                * items.heldOut().size();
            case REVISION -> feedback + candidates * evaluated;
            case EVALUATION -> evaluated(order, items);
        };
    }

    /** Questions that an evaluation asks, those of its baseline included. */
    private static long evaluated(Order order, TaskItems items) {
        long questions = items.of(Objects.requireNonNull(order.split())).size();
        return order.baseline() == null ? questions : 2 * questions;
    }
}
