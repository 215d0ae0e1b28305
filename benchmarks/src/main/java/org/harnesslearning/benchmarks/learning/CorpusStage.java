package org.harnesslearning.benchmarks.learning;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.IntStream;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Gathers the corpus in passes. The first edits the minimal harness of each family, each further one the best harnesses
 * that the pass before was left with. A pass is one supervised training run of no epochs; what it gathers is read while it
 * works, so that a cut costs only the families that were not ready. Families that a pass has in the file are left out.
 */
final class CorpusStage {
    /** A harness that scores so much is no state to begin from: nothing is left to gain. */
    static final double SOLVED = 0.95;

    /** Numbers of passes that begin from the minimal harness again lie above this one. */
    private static final int AGAIN = 100;

    /** Numbers of passes that begin from the best harnesses of the whole corpus lie above this one. */
    private static final int EDITED = 200;

    private static final int PAGE = 200;

    private final Experiment experiment;
    private final Plan plan;
    private final RawFile file;

    /**
     * What is gathered.
     *
     * @param teacher model of the teacher
     * @param demonstrations set of earlier turns that it sees
     * @param passes number of revisions that lie behind the last pass's results
     * @param again further passes from the minimal harness, with questions of their own; then the passes above are not
     *     done
     * @param edited further passes from the best harnesses that the whole corpus has of each family; likewise
     * @param states starting harnesses of a family in the later passes
     * @param heldOutShare part of the states whose edits are not trained on; the loss on them decides when to stop
     * @param rollout the field {@code rollout} of the run
     * @param lora the field {@code lora}: the run opens a learner, though it trains nothing
     */
    record Plan(
            List<String> families,
            String teacher,
            String demonstrations,
            int candidates,
            int passes,
            int again,
            int edited,
            int states,
            int atOnce,
            long seed,
            double heldOutShare,
            ObjectNode rollout,
            ObjectNode lora,
            ObjectNode engine) {
        Plan {
            families = List.copyOf(families);
        }
    }

    CorpusStage(Experiment experiment, Plan plan) {
        this.experiment = experiment;
        this.plan = plan;
        this.file = experiment.file(Experiment.CORPUS);
    }

    /** Accepted edits of a pass, or of all with pass 0: the harness that each made and its score, by family, best first. */
    static Map<String, Map<String, Double>> accepted(RawFile file, int pass) {
        Map<String, JsonNode> teachers = new HashMap<>();
        file.lines("teacher").forEach(line -> teachers.put(line.path("revision").asString(""), line));
        Map<String, Map<String, Double>> found = new TreeMap<>();
        for (JsonNode line : file.lines("edit")) {
            JsonNode row = line.path("row");
            if (!row.path("reason").asString("").isEmpty()
                    || (pass > 0 && line.path("pass").asInt(0) != pass)) {
                continue;
            }
            JsonNode teacher = teachers.get(row.path("run").asString(""));
            if (teacher == null) {
                continue;
            }
            for (JsonNode candidate : teacher.path("candidates")) {
                if (candidate.path("index").asInt(-1) == row.path("candidate").asInt(-2)) {
                    found.computeIfAbsent(row.path("family").asString(""), key -> new HashMap<>())
                            .merge(
                                    candidate.path("source").asString(""),
                                    row.path("score").asDouble(0),
                                    Math::max);
                }
            }
        }
        Map<String, Map<String, Double>> sorted = new TreeMap<>();
        found.forEach((family, harnesses) -> {
            Map<String, Double> best = new LinkedHashMap<>();
            harnesses.entrySet().stream()
                    .sorted(Map.Entry.<String, Double>comparingByValue(Comparator.reverseOrder())
                            .thenComparing(Map.Entry.comparingByKey()))
                    .forEach(entry -> best.put(entry.getKey(), entry.getValue()));
            sorted.put(family, best);
        });
        return sorted;
    }

    /**
     * The best harnesses that accepted edits of a pass, or of all with pass 0, made of each family, where there is something
     * left to gain.
     *
     * @param most of one family
     */
    static Map<String, List<String>> starts(RawFile file, int pass, int most) {
        Map<String, List<String>> starts = new LinkedHashMap<>();
        accepted(file, pass).forEach((family, harnesses) -> {
            List<String> chosen = harnesses.entrySet().stream()
                    .filter(entry -> entry.getValue() < SOLVED)
                    .limit(most)
                    .map(Map.Entry::getKey)
                    .toList();
            if (!chosen.isEmpty()) {
                starts.put(family, chosen);
            }
        });
        return starts;
    }

    /** Gathers what is missing; false when the time was up before the end. */
    boolean run() {
        boolean whole = true;
        for (int pass : passes()) {
            whole &= pass(pass);
            tell(pass);
        }
        return whole;
    }

    private int[] passes() {
        IntStream further = IntStream.concat(
                IntStream.rangeClosed(AGAIN + 1, AGAIN + plan.again()),
                IntStream.rangeClosed(EDITED + 1, EDITED + plan.edited()));
        return (plan.again() + plan.edited() > 0 ? further : IntStream.rangeClosed(1, plan.passes())).toArray();
    }

    /** Whether a pass begins from edited harnesses. */
    private static boolean later(int pass) {
        return pass > 1 && (pass < AGAIN || pass > EDITED);
    }

    private boolean pass(int pass) {
        Set<String> done = new TreeSet<>();
        file.lines("edit").stream()
                .filter(line -> line.path("pass").asInt(0) == pass)
                .forEach(line -> done.add(line.path("row").path("family").asString("")));
        Map<String, List<String>> starts =
                later(pass) ? starts(file, pass > EDITED ? 0 : pass - 1, plan.states()) : Map.of();
        List<String> families = plan.families().stream()
                .filter(family -> !done.contains(family) && (!later(pass) || starts.containsKey(family)))
                .toList();
        if (families.isEmpty()) {
            return true;
        }
        if (experiment.deadline().over()) {
            return false;
        }
        String run = order(pass, families, starts);
        return follow(pass, run);
    }

    private String order(int pass, List<String> families, Map<String, List<String>> starts) {
        ObjectNode request = Json.mapper().createObjectNode();
        request.put("kind", "sft");
        request.put("base_model", experiment.base());
        request.put("name", "corpus, pass " + pass);
        request.put("seed", plan.seed() + (pass > AGAIN ? 730 + 10L * (pass - AGAIN) : 100L * pass));
        ArrayNode names = request.putArray("families");
        families.forEach(names::add);
        ObjectNode method = request.putObject("method");
        method.putArray("teachers")
                .addObject()
                .put("model", plan.teacher())
                .put("demonstrations", plan.demonstrations());
        method.put("epochs", 0);
        method.put("held_out_share", plan.heldOutShare());
        int turns = later(pass) ? plan.states() : 1;
        method.put("states", families.size() * turns);
        method.put("candidates", plan.candidates());
        method.put("groups_in_flight", plan.atOnce());
        method.put("failures_in_row", 50);
        method.set("rollout", plan.rollout());
        method.set("lora", plan.lora());
        method.set("engine", plan.engine());
        if (later(pass)) {
            ObjectNode own = method.putObject("family_harnesses");
            families.forEach(family -> {
                ArrayNode hashes = own.putArray(family);
                for (String source : starts.getOrDefault(family, List.of())) {
                    experiment.bringHarness(source, family, solver());
                    hashes.add(Hashes.harness(source));
                }
            });
        }
        String run = experiment
                .client()
                .post("/training-runs", request, experiment.key("corpus " + pass + " " + UUID.randomUUID()))
                .path("id")
                .asString("");
        experiment.say("corpus, pass %d: %s gathers from %d families", pass, run, families.size());
        return run;
    }

    private String solver() {
        return plan.rollout().path("solver_model").asString(experiment.base());
    }

    private boolean follow(int pass, String run) {
        String path = "/training-runs/" + run;
        long after = -1;
        boolean cut = false;
        while (true) {
            JsonNode state = experiment.client().get(path);
            after = read(pass, run, after);
            if (PlatformClient.ended(state)) {
                read(pass, run, after);
                if (state.path("state").asString("").equals("failed")) {
                    throw new LearnException(
                            "the corpus run failed: " + state.path("message").asString(""));
                }
                return !cut;
            }
            if (state.path("state").asString("").equals("paused")) {
                experiment.client().control(path + "/cancel");
                throw new LearnException(
                        "the corpus run paused: " + state.path("message").asString(""));
            }
            if (experiment.deadline().over() && !cut) {
                cut = true;
                experiment.say("corpus, pass %d: the time is up", pass);
                experiment.client().control(path + "/cancel");
            }
            PlatformClient.pause(experiment.poll());
        }
    }

    /** Reads new edits into the file; returns the last position. */
    private long read(int pass, String run, long from) {
        long after = from;
        while (true) {
            JsonNode page =
                    experiment.client().get("/training-runs/" + run + "/corpus?after=" + after + "&limit=" + PAGE);
            if (page.path("data").isEmpty()) {
                return after;
            }
            List<ObjectNode> lines = new ArrayList<>();
            if (after < 0) {
                ObjectNode head = Json.mapper().createObjectNode();
                head.put("type", "corpus_run").put("pass", pass).put("run", run);
                head.set("base_model", page.path("base_model"));
                head.set("settings", page.path("settings"));
                lines.add(head);
            }
            Set<String> revisions = new LinkedHashSet<>();
            for (JsonNode row : page.path("data")) {
                ObjectNode line = Json.mapper().createObjectNode();
                line.put("type", "edit").put("pass", pass).put("run", run);
                line.set("row", row);
                String parent = row.path("harness").asString("");
                line.putObject("harnesses").set(parent, page.path("harnesses").path(parent));
                lines.add(line);
                revisions.add(row.path("run").asString(""));
                after = row.path("position").asLong(after);
            }
            for (String revision : revisions) {
                lines.add(teacher(pass, revision));
            }
            file.add(lines);
            experiment.say("corpus, pass %d: %d edits read", pass, after + 1);
        }
    }

    private ObjectNode teacher(int pass, String revision) {
        JsonNode whole = experiment.client().get("/revisions/" + revision);
        ObjectNode line = Json.mapper().createObjectNode();
        line.put("type", "teacher").put("pass", pass).put("revision", revision);
        line.set("parent", whole.path("parent"));
        line.set("report", whole.path("report"));
        line.set("usage", whole.path("usage"));
        line.set("candidates", Candidates.of(experiment, whole.path("candidates")));
        return line;
    }

    private void tell(int pass) {
        Map<String, Integer> counts = new TreeMap<>();
        file.lines("edit").stream()
                .filter(line -> line.path("pass").asInt(0) == pass)
                .map(line -> line.path("row").path("reason").asString(""))
                .forEach(reason -> counts.merge(reason.isEmpty() ? "accepted" : reason, 1, Integer::sum));
        experiment.say("corpus, pass %d: %s", pass, counts);
    }
}
