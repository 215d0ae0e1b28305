package org.harnesslearning.proposer.order;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.SolverSettings;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.contracts.request.Faults;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.ProposerProperties;
import org.harnesslearning.proposer.edit.ReplyForm;
import org.harnesslearning.proposer.model.ModelCatalog;
import org.harnesslearning.proposer.prompt.Demonstration;
import org.harnesslearning.proposer.prompt.Demonstrations;
import org.harnesslearning.proposer.revision.Prompts;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.proposer.task.OwnTasks;
import org.harnesslearning.proposer.task.TaskKits;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.tasks.Families;
import org.harnesslearning.tasks.Family;
import org.harnesslearning.tasks.SeedHarness;
import org.harnesslearning.tasks.SplitSizes;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/** Reads a request's body: all faults are found before the first is thrown, and nothing outside is changed. */
@Component
class OrderReader {
    private static final int MAX_CANDIDATES = 64;
    private static final int MAX_ROUNDS = 100;
    private static final int MAX_TOKENS = 32_768;
    private static final int MAX_LABELS = 32;
    private static final int MAX_REGRESSION = 1000;
    private static final long DEFAULT_TOOL_CALLS = 2000;

    private final ProposerProperties properties;
    private final ModelCatalog models;
    private final HarnessReader harnesses;
    private final OwnTasks ownTasks;
    private final TaskKits kits;
    private final Prompts prompts;

    OrderReader(
            ProposerProperties properties,
            ModelCatalog models,
            HarnessReader harnesses,
            OwnTasks ownTasks,
            TaskKits kits,
            Prompts prompts) {
        this.properties = properties;
        this.models = models;
        this.harnesses = harnesses;
        this.ownTasks = ownTasks;
        this.kits = kits;
        this.prompts = prompts;
    }

    /**
     * Reads a body.
     *
     * @throws PlatformException with all faults
     */
    Order read(RunKind kind, JsonNode body) {
        Faults faults = new Faults();
        Fields fields = Fields.of(body, faults);
        boolean adapt = kind == RunKind.ADAPTATION;
        boolean propose = kind != RunKind.EVALUATION;
        boolean allowMissing = fields.bool("allow_missing_held_out", false);
        TaskSource task = task(fields, allowMissing || !adapt, faults);
        TaskKits.Resolved kit = kit(task, faults);
        String harness = harnesses.read(fields, "harness", SeedHarness.MINIMAL);
        String baseline = propose ? null : harnesses.read(fields, "baseline", null);
        SplitSizes sizes = sizes(fields);
        Integer candidates = propose ? (int) fields.integer("candidates", 4, 1, MAX_CANDIDATES) : null;
        Integer rounds = adapt ? (int) fields.integer("rounds", 3, 1, MAX_ROUNDS) : null;
        RunSettings.Selection selection = adapt
                ? fields.choice("selection", RunSettings.Selection.class, RunSettings.Selection.KEEP_INCUMBENT)
                : null;
        Map<String, ModelInfo> known = models.byName();
        RunSettings.Proposer proposer = propose ? proposer(fields, known) : null;
        SolverSettings solver = solver(fields, known);
        Limits limits = limits(fields);
        RunSettings.Budget budget = budget(fields, kit);
        boolean revise = kind == RunKind.REVISION;
        RunSettings.Gate gate = revise ? null : gate(fields, adapt, fields.value("baseline") != null, proposer, solver);
        List<String> regression = revise ? List.of() : regression(fields);
        List<QuestionResult> report = revise ? report(fields) : null;
        Boolean evaluate = revise ? fields.bool("evaluate", true) : null;
        Split split = propose ? null : fields.choice("split", Split.class, Split.DEV);
        Integer repeat = propose ? null : (int) fields.integer("repeat", 0, 0, 1000);
        long seed = fields.integer("seed", 1, 0, Integer.MAX_VALUE);
        Map<String, String> labels = fields.labels("labels", MAX_LABELS);
        List<Demonstration> demonstrations = demonstrations(proposer, task);
        fields.end();
        faults.check();
        return new Order(
                Objects.requireNonNull(task),
                kit.kit(),
                Objects.requireNonNull(harness),
                sizes,
                candidates,
                rounds,
                selection,
                proposer,
                proposer == null ? null : known.get(proposer.model()),
                demonstrations,
                report,
                evaluate,
                split,
                repeat,
                baseline,
                solver,
                Objects.requireNonNull(known.get(solver.model())),
                limits,
                budget,
                gate,
                regression,
                seed,
                labels,
                allowMissing);
    }

    /** What the names of a task stand for now; a stored task's may have gone since. */
    private TaskKits.Resolved kit(@Nullable TaskSource task, Faults faults) {
        return switch (task) {
            case null -> TaskKits.Resolved.NONE;
            case TaskSource.BuiltIn builtIn -> TaskKits.Resolved.NONE;
            case TaskSource.Stored stored -> kits.resolve(stored.sandbox(), "/task/id", faults);
            case TaskSource.Inline inline -> kits.resolve(inline.sandbox(), "/task/inline/sandbox", faults);
        };
    }

    private @Nullable TaskSource task(Fields fields, boolean allowMissing, Faults faults) {
        Fields task = fields.object("task");
        if (task == null) {
            if (!fields.has("task")) {
                fields.fault("task", "is missing");
            }
            return null;
        }
        long forms = List.of("reasoning_gym", "qa", "id", "inline").stream()
                .filter(task::has)
                .count();
        if (forms != 1) {
            fields.fault("task", "must have exactly one of reasoning_gym, id, inline");
            task.end();
            return null;
        }
        TaskSource source = null;
        if (task.has("reasoning_gym")) {
            source = builtIn(task, faults);
        } else if (task.has("inline")) {
            source = inline(task, allowMissing, faults);
        } else if (task.has("id")) {
            source = stored(task);
        } else {
            task.fault("qa", "is not served by this version; tasks are reasoning_gym, id and inline");
        }
        task.end();
        return source;
    }

    private static @Nullable TaskSource builtIn(Fields task, Faults faults) {
        Fields gym = task.object("reasoning_gym");
        if (gym == null) {
            return null;
        }
        String name = gym.text("family", 64);
        if (name == null && !gym.has("family")) {
            gym.fault("family", "is missing");
        }
        long seed = gym.integer("seed", 42, 0, Integer.MAX_VALUE);
        Map<String, Object> config = gym.map("config");
        gym.end();
        if (name == null) {
            return null;
        }
        try {
            Family family = Families.get(name);
            return new TaskSource.BuiltIn(family, seed, config);
        } catch (PlatformException e) {
            faults.add("", e);
            return null;
        }
    }

    private @Nullable TaskSource inline(Fields task, boolean allowMissing, Faults faults) {
        Fields inline = task.object("inline");
        if (inline == null) {
            return null;
        }
        OwnTasks.Own own = ownTasks.read(inline, allowMissing, faults);
        inline.end();
        return own == null ? null : new TaskSource.Inline(own.description(), own.scorer(), own.sandbox(), own.items());
    }

    private @Nullable TaskSource stored(Fields task) {
        String id = task.text("id", 64);
        OwnTasks.Own own = id == null ? null : ownTasks.find(id).orElse(null);
        if (id != null && own == null) {
            task.fault("id", "names no task: " + id);
        }
        return own == null || id == null
                ? null
                : new TaskSource.Stored(id, own.description(), own.scorer(), own.sandbox(), own.items());
    }

    private static @Nullable SplitSizes sizes(Fields fields) {
        Fields splits = fields.object("splits");
        if (splits == null) {
            return null;
        }
        SplitSizes defaults = SplitSizes.DEFAULTS;
        SplitSizes sizes = new SplitSizes(
                (int) splits.integer("feedback", defaults.feedback(), 1, SplitSizes.MAX),
                (int) splits.integer("dev", defaults.dev(), 1, SplitSizes.MAX),
                (int) splits.integer("held_out", defaults.heldOut(), 0, SplitSizes.MAX));
        splits.end();
        return sizes;
    }

    private RunSettings.Proposer proposer(Fields fields, Map<String, ModelInfo> known) {
        Fields proposer = fields.object("proposer");
        if (proposer == null) {
            return new RunSettings.Proposer(
                    required(fields, "proposer", properties.defaultModel(), known),
                    0.8,
                    0.95,
                    1024,
                    Objects.requireNonNull(fullName("default")),
                    ReplyForm.SEARCH_REPLACE,
                    null);
        }
        String model = model(proposer, known);
        String named = proposer.text("demonstrations", 64);
        String demonstrations = fullName(named == null ? "default" : named);
        if (demonstrations == null) {
            proposer.fault("demonstrations", "names no set of demonstrations: " + named);
        }
        String prefix = proposer.text("reply_prefix", 2000);
        ModelInfo info = known.get(model);
        if (prefix != null && info != null && info.kind() == ModelInfo.Kind.REMOTE) {
            proposer.fault("reply_prefix", "is for local models only");
        }
        RunSettings.Proposer settings = new RunSettings.Proposer(
                model,
                proposer.number("temperature", 0.8, 0, 2),
                topP(proposer, 0.95),
                (int) proposer.integer("max_tokens", 1024, 1, MAX_TOKENS),
                demonstrations == null ? Demonstrations.NONE.name() : demonstrations,
                proposer.choice("reply_form", ReplyForm.class, ReplyForm.SEARCH_REPLACE),
                prefix);
        proposer.end();
        return settings;
    }

    /** Name with version, so that a later default changes no stored run; null for no such set. */
    private @Nullable String fullName(String name) {
        return prompts.demonstrations(name).map(Demonstrations::name).orElse(null);
    }

    private SolverSettings solver(Fields fields, Map<String, ModelInfo> known) {
        Fields solver = fields.object("solver");
        if (solver == null) {
            return SolverSettings.greedy(required(fields, "solver", properties.defaultModel(), known));
        }
        SolverSettings settings =
                new SolverSettings(model(solver, known), solver.number("temperature", 0, 0, 2), topP(solver, 1), (int)
                        solver.integer("max_tokens", 512, 1, MAX_TOKENS));
        solver.end();
        return settings;
    }

    private static double topP(Fields fields, double otherwise) {
        double value = fields.number("top_p", otherwise, 0, 1);
        if (value == 0) {
            fields.fault("top_p", "must be above 0");
            return otherwise;
        }
        return value;
    }

    private String model(Fields fields, Map<String, ModelInfo> known) {
        String given = fields.text("model", 200);
        return required(fields, "model", given == null ? properties.defaultModel() : given, known);
    }

    /** The name under which the run asks: pinned to the version that serves now, so that a promotion changes no run. */
    private String required(Fields fields, String field, String model, Map<String, ModelInfo> known) {
        ModelInfo info = models.pinned(model, known).orElse(null);
        if (info == null) {
            fields.fault(
                    field,
                    ErrorCode.UNKNOWN_MODEL,
                    "names no model: " + model + "; known are "
                            + known.keySet().stream().sorted().collect(Collectors.joining(", ")));
            return model;
        }
        known.put(info.id(), info);
        return info.id();
    }

    private static Limits limits(Fields fields) {
        Fields limits = fields.object("limits");
        if (limits == null) {
            return Limits.DEFAULTS;
        }
        Limits read = new Limits(
                (int) limits.integer("solver_calls_per_question", Limits.DEFAULTS.solverCallsPerQuestion(), 1, 1000),
                (int) limits.integer("question_wall_clock_s", Limits.DEFAULTS.questionWallClockS(), 1, 3600),
                (int) limits.integer("memory_mib", Limits.DEFAULTS.memoryMib(), 32, 16_384));
        limits.end();
        return read;
    }

    private static RunSettings.Budget budget(Fields fields, TaskKits.Resolved kit) {
        Fields budget = fields.object("budget");
        RunSettings.Budget defaults = RunSettings.Budget.DEFAULTS;
        boolean tools = !kit.kit().tools().isEmpty();
        long most = kit.mostToolCalls();
        Long toolCalls = tools ? Math.min(DEFAULT_TOOL_CALLS, most) : null;
        if (budget == null) {
            return new RunSettings.Budget(defaults.solverCalls(), defaults.tokens(), defaults.wallClockS(), toolCalls);
        }
        if (tools) {
            toolCalls = budget.integer("tool_calls", Math.min(DEFAULT_TOOL_CALLS, most), 1, most);
        } else if (budget.has("tool_calls")) {
            budget.fault("tool_calls", "is for tasks with tools");
        }
        RunSettings.Budget read = new RunSettings.Budget(
                budget.integer("solver_calls", defaults.solverCalls(), 1, 100_000_000),
                budget.integer("tokens", defaults.tokens(), 1, 1_000_000_000_000L),
                budget.integer("wall_clock_s", defaults.wallClockS(), 1, 31_536_000),
                toolCalls);
        budget.end();
        return read;
    }

    /** A gate. An adaptation is judged by its held-out gain, an evaluation by its score, by its gain, or by both. */
    private RunSettings.@Nullable Gate gate(
            Fields fields,
            boolean adapt,
            boolean compared,
            RunSettings.@Nullable Proposer proposer,
            SolverSettings solver) {
        Fields gate = fields.object("gate");
        if (gate == null) {
            return null;
        }
        Double minGain = adapt || gate.has("min_gain") ? Double.valueOf(gate.number("min_gain", 0.05, -1, 1)) : null;
        Double minScore = !adapt && gate.has("min_score") ? Double.valueOf(gate.number("min_score", 0, 0, 1)) : null;
        if (!adapt && minGain != null && !compared) {
            gate.fault("min_gain", "needs a baseline to measure the gain against");
        }
        if (!adapt && !compared && minScore == null && !gate.has("max_cost")) {
            gate.fault("min_score", "is needed where there is no baseline");
        }
        double confidence = gate.number("confidence", 0.95, 0.5, 0.999);
        Double maxCost = gate.has("max_cost") ? Double.valueOf(gate.number("max_cost", 0, 0, 1e12)) : null;
        gate.end();
        if (maxCost != null) {
            List.of(proposer == null ? solver.model() : proposer.model(), solver.model()).stream()
                    .filter(model -> properties.price(model) == null)
                    .findFirst()
                    .ifPresent(model -> gate.fault("max_cost", "needs a configured price of the model " + model));
        }
        return new RunSettings.Gate(minGain, confidence, maxCost, minScore);
    }

    private static List<String> regression(Fields fields) {
        JsonNode given = fields.value("regression");
        if (given == null) {
            return List.of();
        }
        boolean texts = given.isArray() && given.valueStream().allMatch(JsonNode::isString);
        if (!texts || given.size() > MAX_REGRESSION) {
            fields.fault("regression", "must be an array of at most " + MAX_REGRESSION + " item hashes or ids");
            return List.of();
        }
        return given.valueStream().map(JsonNode::stringValue).toList();
    }

    /** A structured report given with a revision: question results, traces optional. */
    private static @Nullable List<QuestionResult> report(Fields fields) {
        JsonNode results = fields.value("report");
        if (results == null) {
            return null;
        }
        if (!results.isArray() || results.isEmpty()) {
            fields.fault("report", "must be an array of question results");
            return null;
        }
        try {
            return Arrays.stream(Json.mapper().treeToValue(results, QuestionResult[].class))
                    .map(OrderReader::complete)
                    .toList();
        } catch (JacksonException e) {
            fields.fault("report", "does not fit the execution report: " + e.getOriginalMessage());
            return null;
        }
    }

    @SuppressWarnings("NullAway") // Jackson leaves absent parts null.
    private static QuestionResult complete(QuestionResult given) {
        return new QuestionResult(
                given.itemHash() == null ? "" : given.itemHash(),
                given.repeat(),
                given.code() == null ? QuestionCode.ERROR : given.code(),
                given.score(),
                given.strict(),
                given.answer(),
                given.error(),
                given.trace() == null ? QuestionResult.Trace.EMPTY : given.trace(),
                given.usage() == null ? Usage.ZERO : given.usage());
    }

    private List<Demonstration> demonstrations(RunSettings.@Nullable Proposer proposer, @Nullable TaskSource task) {
        if (proposer == null) {
            return List.of();
        }
        String family =
                task instanceof TaskSource.BuiltIn builtIn ? builtIn.family().name() : null;
        return prompts.demonstrations(proposer.demonstrations())
                .map(set -> set.forFamily(family))
                .orElse(List.of());
    }
}
