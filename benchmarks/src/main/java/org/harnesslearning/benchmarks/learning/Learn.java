package org.harnesslearning.benchmarks.learning;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.tasks.Families;
import org.harnesslearning.tasks.Family;
import org.harnesslearning.tasks.SeedHarness;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** The stages of the experiment by name: {@code corpus}, {@code sft}, {@code grpo}, {@code check}, {@code evaluate}, … */
public final class Learn {
    private static final double FOREVER_MINUTES = 60 * 24 * 365;

    private static final int GRPO_SEEDS = 500;
    private static final double TEMPERATURE = 0.8;
    private static final double TOP_P = 0.95;

    private final Arguments options;
    private final PrintStream log;
    private final Path out;
    private final String base;
    private final String solver;
    private final int feedback;
    private final int dev;
    private final int atOnce;
    private final int seed;

    private Learn(Arguments options, PrintStream log) {
        this.options = options;
        this.log = log;
        this.out = Path.of(options.text("out", "target/learn"));
        this.base = options.text("model", "qwen2.5-coder-1.5b");
        this.solver = options.text("solver", base);
        this.feedback = options.whole("feedback", 6);
        this.dev = options.whole("dev", 12);
        this.atOnce = options.whole("in-flight", 48);
        this.seed = options.whole("seed", 1);
    }

    /**
     * Runs a stage.
     *
     * @param arguments its name and options; see {@code benchmarks/learn.sh help}
     */
    public static void main(String[] arguments) throws IOException {
        try {
            run(Arrays.asList(arguments), System.out);
        } catch (LearnException | PlatformClient.Refused e) {
            System.err.println("learn: " + e.getMessage());
            System.exit(3);
        }
    }

    /** Runs a stage; false when its time was up before its end. */
    static boolean run(List<String> arguments, PrintStream log) throws IOException {
        if (arguments.isEmpty()) {
            throw new LearnException("name a stage: corpus, sft, grpo, check, evaluate, import, report");
        }
        Learn learn = new Learn(new Arguments(arguments.subList(1, arguments.size())), log);
        return learn.stage(arguments.getFirst());
    }

    private boolean stage(String stage) throws IOException {
        if (stage.equals("report")) {
            options.end();
            String text = new Report(out).text();
            Files.writeString(out.resolve("report.md"), text);
            log.print(text);
            return true;
        }
        String adapters = options.text("adapters");
        if (adapters != null) {
            Experiment.takeAdapters(Path.of(adapters), out);
        }
        String url = options.text("url", address());
        String key = options.text("key", key());
        try (Experiment experiment = new Experiment(
                out,
                new PlatformClient(url, key),
                base,
                log,
                new Jobs.Deadline(options.number("minutes", FOREVER_MINUTES)),
                Duration.ofMillis(options.whole("poll-ms", 1000)))) {
            return switch (stage) {
                case "corpus" -> corpus(experiment);
                case "sft" -> sft(experiment);
                case "grpo" -> grpo(experiment);
                case "check" -> check(experiment);
                case "evaluate" -> evaluate(experiment);
                case "import" -> bring(experiment);
                default -> throw new LearnException("there is no stage '" + stage + "'");
            };
        }
    }

    private static Path data() {
        return Path.of(System.getenv().getOrDefault("HARNESS_DATA", ".harness"));
    }

    private static String address() throws IOException {
        String url = System.getenv("HARNESS_URL");
        Path ready = data().resolve("ready");
        return url != null ? url : Files.exists(ready) ? Files.readString(ready).strip() : "http://127.0.0.1:8080";
    }

    private static String key() throws IOException {
        String key = System.getenv("HARNESS_KEY");
        Path file = data().resolve("admin-key");
        return key != null ? key : Files.exists(file) ? Files.readString(file).strip() : "";
    }

    private List<String> families(Family.Role role) {
        return options.list(
                "families", Families.of(role).stream().map(Family::name).toList());
    }

    private ObjectNode rollout() {
        return Json.mapper()
                .createObjectNode()
                .put("temperature", options.number("temperature", TEMPERATURE))
                .put("top_p", options.number("top-p", TOP_P))
                .put("max_tokens", options.whole("max-tokens", 768))
                .put("feedback", feedback)
                .put("dev", dev)
                .put("solver_model", solver)
                .put("solver_max_tokens", options.whole("solver-max-tokens", 512))
                .put("wall_clock_s", options.whole("revision-seconds", 300));
    }

    private ObjectNode lora() {
        int rank = options.whole("rank", 8);
        return Json.mapper().createObjectNode().put("rank", rank).put("alpha", options.whole("alpha", 2 * rank));
    }

    private ObjectNode engine() {
        return Json.mapper()
                .createObjectNode()
                .put("gradient_checkpointing", Boolean.parseBoolean(options.text("gradient-checkpointing", "true")))
                .put("tokens_per_micro_batch", options.whole("micro-batch", 16_384));
    }

    private boolean corpus(Experiment experiment) {
        CorpusStage.Plan plan = new CorpusStage.Plan(
                families(Family.Role.TRAIN),
                options.text("teacher", base),
                options.text("demonstrations", "default"),
                options.whole("candidates", 8),
                options.whole("passes", 2),
                options.whole("again", 0),
                options.whole("edited", 0),
                options.whole("states", 1),
                atOnce,
                seed,
                options.number("held-out-share", 0.1),
                rollout(),
                lora(),
                engine());
        options.end();
        return new CorpusStage(experiment, plan).run();
    }

    private ObjectNode run(String kind) {
        ObjectNode request = Json.mapper().createObjectNode();
        request.put("kind", kind);
        request.put("base_model", base);
        request.put("seed", seed);
        request.put("checkpoint_every", options.whole("checkpoint-every", 20));
        return request;
    }

    private boolean sft(Experiment experiment) {
        ObjectNode request = run("sft");
        ObjectNode method = request.putObject("method");
        method.put("epochs", options.whole("epochs", 4));
        method.put("batch_size", options.whole("batch", 8));
        method.put("evaluate_every", options.whole("evaluate-every", 5));
        method.put("patience", options.whole("patience", 4));
        method.put("min_share_of_best", options.number("share-of-best", 0));
        method.set("lora", lora());
        method.set("engine", engine());
        method.putObject("optimizer").put("learning_rate", options.number("learning-rate", 2e-4));
        int steps = options.whole("steps", 1000);
        String from = options.text("from");
        options.end();
        if (experiment.version("sft") == null) {
            if (from != null) {
                experiment.bringVersion(from);
                request.put("parent", from);
            }
            ArrayNode corpora = method.putArray("corpus");
            List<String> ids = experiment.bringCorpora();
            if (ids.isEmpty()) {
                throw new LearnException("the corpus has no accepted edit; run the stage corpus");
            }
            ids.forEach(corpora::add);
        }
        return new TrainingStage(experiment, "sft", 0, null, 1).run(request, steps) != null;
    }

    private boolean grpo(Experiment experiment) {
        ObjectNode request = run("grpo");
        // Other questions than those of the corpus.
        request.put("seed", seed + GRPO_SEEDS);
        List<String> families = families(Family.Role.TRAIN);
        ArrayNode names = request.putArray("families");
        families.forEach(names::add);
        ObjectNode method = request.putObject("method");
        int groups = options.whole("groups", 6);
        int staleness = options.whole("staleness", 0);
        method.put("candidates", options.whole("candidates", 8));
        method.put("groups_per_batch", groups);
        method.put("max_staleness", staleness);
        method.put("groups_in_flight", Math.min(256, groups * (1 + staleness)));
        method.put("failures_in_row", 50);
        method.put("iterations", options.whole("iterations", 1));
        method.put("normalization", options.text("normalization", "std"));
        method.put("reward_mode", options.text("reward", "absolute"));
        method.put("distinct", Boolean.parseBoolean(options.text("distinct", "false")));
        method.put("entropy_coefficient", options.number("entropy", 0));
        method.put("kl_coefficient", options.number("kl", 0));
        method.put("measure_kl", Boolean.parseBoolean(options.text("measure-kl", "true")));
        method.set("rollout", rollout());
        method.set("engine", engine());
        method.putObject("optimizer").put("learning_rate", options.number("learning-rate", 5e-5));
        String from = options.text("from");
        int steps = options.whole("steps", 40);
        int keepEvery = options.whole("keep-every", 5);
        int states = options.whole("states", 1);
        int minimal = options.whole("minimal", 1);
        boolean checked = Boolean.parseBoolean(options.text("check", "true"));
        int patience = options.whole("patience", 2);
        // Settings of its evaluations, read before unknown options are refused.
        EvaluationStage.Plan check = plan("withheld", withheld(), List.of(), List.of("revisions"), TEMPERATURE, TOP_P);
        String parent = from != null ? from : experiment.version("sft");
        if (parent == null) {
            throw new LearnException("there is no version of the stage sft to begin from, and none is named by --from");
        }
        if (experiment.version("grpo") == null) {
            experiment.bringVersion(parent);
            request.put("parent", parent);
            starts(experiment, method, families, states, minimal);
        }
        TrainingStage.Check score = (name, version) -> score(experiment, check, name, version);
        return new TrainingStage(experiment, "grpo", keepEvery, checked ? score : null, patience).run(request, steps)
                != null;
    }

    private static List<String> withheld() {
        return Families.of(Family.Role.WITHHELD).stream().map(Family::name).toList();
    }

    /** Mean score of a version's edits on the withheld families; no number when the time is up before. */
    private double score(Experiment experiment, EvaluationStage.Plan check, String name, String version) {
        EvaluationStage.Plan plan = check.with(List.of(learned(experiment, name, version)), List.of("revisions"));
        if (!new EvaluationStage(experiment, plan).run()) {
            return Double.NaN;
        }
        return withheld(experiment, name).orElse(Double.NaN);
    }

    /** What an arm's edits score on the withheld families, where it was checked. */
    private OptionalDouble withheld(Experiment experiment, String name) {
        return experiment.file(Experiment.OUTCOMES).lines("proposal").stream()
                .filter(line -> line.path("set").asString("").equals("withheld")
                        && line.path("arm").asString("").equals(name)
                        && line.path("solver").asString("").equals(solver)
                        && Set.of("scored", "invalid")
                                .contains(line.path("outcome").asString("")))
                .mapToDouble(line -> line.path("mean").asDouble(0))
                .average();
    }

    /**
     * The version that a stage ended with; otherwise, of those whose adapter is there, the best on the withheld families, or
     * the last where none is checked.
     */
    private @Nullable String best(Experiment experiment, String stage) {
        JsonNode best = experiment.version(stage) != null
                ? experiment.furthest(stage)
                : experiment.versions().stream()
                        .filter(line -> line.path("stage").asString("").equals(stage))
                        .max(Comparator.comparing((JsonNode line) ->
                                        experiment.has(line.path("version").asString("")))
                                .thenComparingDouble(line ->
                                        withheld(experiment, arm(stage, line)).orElse(-1))
                                .thenComparingInt(line -> line.path("step").asInt(0)))
                        .orElse(null);
        return best == null ? null : best.path("version").asString("");
    }

    private static String arm(String stage, JsonNode version) {
        return stage + "@" + version.path("step").asInt(0);
    }

    /** Beside the minimal harness: the best that the corpus has of each family, where there is something left to gain. */
    private void starts(Experiment experiment, ObjectNode method, List<String> families, int states, int minimal) {
        Map<String, List<String>> starts = CorpusStage.starts(experiment.file(Experiment.CORPUS), 0, states);
        ObjectNode own = Json.mapper().createObjectNode();
        for (String family : families) {
            List<String> sources = starts.getOrDefault(family, List.of());
            if (!sources.isEmpty()) {
                ArrayNode hashes = own.putArray(family);
                List<String> all = new ArrayList<>(Collections.nCopies(minimal, SeedHarness.MINIMAL));
                all.addAll(sources);
                for (String source : all) {
                    experiment.bringHarness(source, family, solver);
                    hashes.add(Hashes.harness(source));
                }
            }
        }
        if (!own.isEmpty()) {
            method.set("family_harnesses", own);
        }
    }

    private EvaluationStage.Plan plan(
            String set, List<String> families, List<EvaluationStage.Arm> arms, List<String> parts) {
        return plan(
                set, families, arms, parts, options.number("temperature", TEMPERATURE), options.number("top-p", TOP_P));
    }

    private EvaluationStage.Plan plan(
            String set,
            List<String> families,
            List<EvaluationStage.Arm> arms,
            List<String> parts,
            double temperature,
            double topP) {
        EvaluationStage.Plan plan = new EvaluationStage.Plan(
                set,
                families,
                arms,
                solver,
                options.list("parts", parts),
                feedback,
                dev,
                options.whole("held-out", 12),
                options.whole("proposals", 4),
                options.whole("repeats", 1),
                options.whole("rounds", 3),
                options.whole("round-candidates", 1),
                options.whole("question-seed", 42),
                temperature,
                topP,
                options.whole("max-tokens", 768),
                options.whole("solver-max-tokens", 512),
                options.whole("revision-seconds", 600),
                atOnce);
        options.end();
        return plan;
    }

    private boolean check(Experiment experiment) {
        List<EvaluationStage.Arm> arms = new ArrayList<>();
        arms.add(new EvaluationStage.Arm("untrained", base, "none"));
        arms.add(new EvaluationStage.Arm("demonstrations", base, "default"));
        for (JsonNode line : experiment.versions()) {
            String name = arm(line.path("stage").asString(""), line);
            if (arms.stream().noneMatch(arm -> arm.name().equals(name))) {
                arms.add(learned(experiment, name, line.path("version").asString("")));
            }
        }
        return new EvaluationStage(
                        experiment,
                        plan(
                                "withheld",
                                families(Family.Role.WITHHELD),
                                chosen(arms),
                                List.of("revisions", "scorings")))
                .run();
    }

    private boolean evaluate(Experiment experiment) {
        List<EvaluationStage.Arm> arms = new ArrayList<>();
        arms.add(new EvaluationStage.Arm("untrained", base, "none"));
        arms.add(new EvaluationStage.Arm("demonstrations", base, "default"));
        for (String set : options.list("sets", List.of())) {
            arms.add(new EvaluationStage.Arm("demonstrations " + set, base, set));
        }
        for (String stage : List.of("sft", "grpo")) {
            String named = options.text(stage + "-version");
            String version = named != null ? named : best(experiment, stage);
            if (version == null) {
                experiment.say("there is no version of the stage %s: its arm is left out", stage);
            } else if (named == null && !experiment.has(version)) {
                experiment.say("the adapter of the stage %s is not in the folder: its arm is left out", stage);
            } else {
                arms.add(learned(experiment, stage, version));
            }
        }
        return new EvaluationStage(
                        experiment,
                        plan(
                                "unseen",
                                families(Family.Role.UNSEEN),
                                chosen(arms),
                                List.of("revisions", "scorings", "chains", "best", "noise", "demonstrations")))
                .run();
    }

    private EvaluationStage.Arm learned(Experiment experiment, String name, String version) {
        experiment.bringVersion(version);
        return new EvaluationStage.Arm(name, base + "@" + version, "none");
    }

    private List<EvaluationStage.Arm> chosen(List<EvaluationStage.Arm> arms) {
        List<String> names = options.list("arms", List.of());
        for (String name : names) {
            if (arms.stream().noneMatch(arm -> arm.name().equals(name))) {
                throw new LearnException("there is no arm '" + name + "'; there are "
                        + arms.stream().map(EvaluationStage.Arm::name).toList());
            }
        }
        return names.isEmpty()
                ? arms
                : arms.stream().filter(arm -> names.contains(arm.name())).toList();
    }

    private boolean bring(Experiment experiment) {
        options.end();
        List<String> corpora = experiment.bringCorpora();
        int versions = 0;
        for (JsonNode line : experiment.versions()) {
            String version = line.path("version").asString("");
            if (experiment.has(version)) {
                experiment.bringVersion(version);
                versions++;
            } else {
                experiment.say("the adapter of %s is not in the folder: it is left out", version);
            }
        }
        experiment.say("the platform has %d corpora and %d versions", corpora.size(), versions);
        return true;
    }
}
