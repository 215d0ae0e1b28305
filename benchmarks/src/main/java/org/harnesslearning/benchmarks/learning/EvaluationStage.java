package org.harnesslearning.benchmarks.learning;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The evaluation: every arm writes its edits for the same reports and is scored on the same questions. What stands in the
 * file is not asked for again. All families and arms are at work at once; those of one family follow each other, so that a
 * cut leaves whole families that can be compared.
 */
final class EvaluationStage {
    /** Polls for which a paused run rests. */
    private static final int REST_POLLS = 5;

    /** At which the edits of files were sampled that do not say so. */
    private static final double UNNAMED_TEMPERATURE = 0.8;

    private final Experiment experiment;
    private final Plan plan;
    private final RawFile file;
    private final Set<String> done = new HashSet<>();

    /**
     * A proposer.
     *
     * @param name such as {@code sft}
     * @param model as proposer-service knows it
     * @param demonstrations set of earlier turns; {@code none} for none
     */
    record Arm(String name, String model, String demonstrations) {}

    /**
     * What is measured.
     *
     * @param set such as {@code unseen}
     * @param solver model behind {@code env.llm}
     * @param parts in the order in which they are done: revisions, scorings, chains, best, noise, demonstrations
     * @param proposals edits of one arm for one report
     * @param repeats reports of each family, each with questions of its own
     * @param rounds of a chain, in each of which {@code chainCandidates} edits are written
     */
    record Plan(
            String set,
            List<String> families,
            List<Arm> arms,
            String solver,
            List<String> parts,
            int feedback,
            int dev,
            int heldOut,
            int proposals,
            int repeats,
            int rounds,
            int chainCandidates,
            int questionSeed,
            double temperature,
            double topP,
            int maxTokens,
            int solverMaxTokens,
            int wallClockS,
            int atOnce) {
        Plan {
            families = List.copyOf(families);
            arms = List.copyOf(arms);
            parts = List.copyOf(parts);
        }

        /** The same for other proposers and parts. */
        Plan with(List<Arm> others, List<String> otherParts) {
            return new Plan(
                    set,
                    families,
                    others,
                    solver,
                    otherParts,
                    feedback,
                    dev,
                    heldOut,
                    proposals,
                    repeats,
                    rounds,
                    chainCandidates,
                    questionSeed,
                    temperature,
                    topP,
                    maxTokens,
                    solverMaxTokens,
                    wallClockS,
                    atOnce);
        }
    }

    /** @throws LearnException if the folder's edits of this set were sampled at another temperature */
    EvaluationStage(Experiment experiment, Plan plan) {
        this.experiment = experiment;
        this.plan = plan;
        this.file = experiment.file(Experiment.OUTCOMES);
        for (JsonNode line : file.lines()) {
            done.add(line.path("key").asString(""));
            double temperature = line.path("temperature").asDouble(UNNAMED_TEMPERATURE);
            if (line.has("arm") && ours(line) && temperature != plan.temperature()) {
                throw new LearnException("the edits of '" + plan.set() + "' in " + experiment.out()
                        + " were sampled at temperature " + temperature + ": give --temperature " + temperature
                        + ", or another --out");
            }
        }
    }

    private boolean ours(JsonNode line) {
        return line.path("set").asString("").equals(plan.set())
                && line.path("solver").asString("").equals(plan.solver());
    }

    /** Measures what is missing; false when the time was up before the end. */
    boolean run() {
        Jobs jobs = new Jobs(plan.atOnce(), experiment.deadline());
        List<Jobs.Job> first = new ArrayList<>();
        for (String part : plan.parts()) {
            switch (part) {
                case "revisions" -> revisions(first);
                case "scorings" -> handWritten(first);
                case "chains" -> chains(first);
                case "noise" -> noise(first);
                case "demonstrations" -> demonstrations(first);
                case "best" -> {
                    // Below: needs the revisions.
                }
                default -> throw new LearnException("there is no part '" + part + "' of an evaluation");
            }
        }
        experiment.say("%s, solver %s: %d pieces of work to do", plan.set(), plan.solver(), first.size());
        int left = jobs.run(first);
        if (plan.parts().contains("best")) {
            List<Jobs.Job> second = new ArrayList<>();
            best(second);
            left += jobs.run(second);
        }
        experiment.say("%s, solver %s: %s", plan.set(), plan.solver(), left == 0 ? "complete" : left + " left undone");
        return left == 0;
    }

    private String key(String... parts) {
        return plan.set() + "|" + plan.solver() + "|" + String.join("|", parts);
    }

    private boolean missing(String key) {
        synchronized (done) {
            return !done.contains(key);
        }
    }

    private void add(String key, List<ObjectNode> lines) {
        lines.forEach(line -> {
            line.put("key", key);
            line.put("set", plan.set());
            line.put("solver", plan.solver());
        });
        file.add(lines);
        synchronized (done) {
            done.add(key);
        }
    }

    private int seed(int repeat) {
        return plan.questionSeed() + 10_000 * repeat;
    }

    private ObjectNode request(String family, int repeat, int heldOut) {
        ObjectNode body = Json.mapper().createObjectNode();
        body.putObject("task").putObject("reasoning_gym").put("family", family).put("seed", seed(repeat));
        body.putObject("splits")
                .put("feedback", plan.feedback())
                .put("dev", plan.dev())
                .put("held_out", heldOut);
        body.putObject("solver")
                .put("model", plan.solver())
                .put("temperature", 0)
                .put("max_tokens", plan.solverMaxTokens());
        body.putObject("budget")
                .put("solver_calls", 20_000)
                .put("tokens", 50_000_000)
                .put("wall_clock_s", plan.wallClockS());
        body.put("seed", 1 + repeat);
        return body;
    }

    private ObjectNode proposer(Arm arm) {
        return Json.mapper()
                .createObjectNode()
                .put("model", arm.model())
                .put("temperature", plan.temperature())
                .put("top_p", plan.topP())
                .put("max_tokens", plan.maxTokens())
                .put("demonstrations", arm.demonstrations());
    }

    /**
     * Orders and waits; null when the time is up. A run that came to nothing is ordered once more; one that is paused goes
     * on after a while.
     */
    private @Nullable JsonNode ordered(String order, String resource, ObjectNode body, String key) {
        for (int attempt = 0; attempt < 2; attempt++) {
            String id = experiment
                    .client()
                    .post(order, body, experiment.key(key + " " + attempt))
                    .path("id")
                    .asString("");
            String path = resource + "/" + id;
            while (true) {
                JsonNode run = experiment.client().get(path);
                String state = run.path("state").asString("");
                if (state.equals("succeeded")) {
                    return run;
                }
                boolean paused = state.equals("paused");
                boolean ended = PlatformClient.ended(run);
                if (paused || ended) {
                    experiment.say(
                            "%s: %s %s: %s", key, id, state, run.path("message").asString(""));
                }
                if (ended) {
                    break;
                }
                if (experiment.deadline().over()) {
                    return null;
                }
                if (paused) {
                    PlatformClient.pause(experiment.poll().multipliedBy(REST_POLLS));
                    experiment.client().control(path + "/resume");
                }
                PlatformClient.pause(experiment.poll());
            }
        }
        return null;
    }

    private void revisions(List<Jobs.Job> jobs) {
        for (int repeat = 0; repeat < plan.repeats(); repeat++) {
            for (String family : plan.families()) {
                for (Arm arm : plan.arms()) {
                    int number = repeat;
                    String key = key("revision", arm.name(), family, Integer.toString(repeat));
                    if (missing(key)) {
                        jobs.add(() -> revision(arm, family, number, key));
                    }
                }
            }
        }
    }

    private boolean revision(Arm arm, String family, int repeat, String key) {
        ObjectNode body = request(family, repeat, 0);
        body.put("candidates", plan.proposals());
        body.set("proposer", proposer(arm));
        JsonNode run = ordered("/revise", "/revisions", body, key);
        if (run == null) {
            return false;
        }
        List<ObjectNode> lines = new ArrayList<>();
        for (JsonNode candidate : Candidates.of(experiment, run.path("candidates"))) {
            ObjectNode line = line("proposal", arm, family, repeat);
            line.set("run", run.path("id"));
            line.set("parent", run.path("parent"));
            line.set("report", run.path("report"));
            candidate.properties().forEach(entry -> line.set(entry.getKey(), entry.getValue()));
            lines.add(line);
        }
        add(key, lines);
        experiment.say(
                "%s %s: %s; proposer %d tokens, solver %d calls, %d s",
                arm.name(),
                family,
                run.path("counts"),
                run.at("/usage/proposer/completion_tokens").asLong(0),
                run.at("/usage/solver/calls").asLong(0),
                run.at("/usage/wall_clock_ms").asLong(0) / 1000);
        return true;
    }

    private ObjectNode line(String type, Arm arm, String family, int repeat) {
        return Json.mapper()
                .createObjectNode()
                .put("type", type)
                .put("arm", arm.name())
                .put("model", arm.model())
                .put("demonstrations", arm.demonstrations())
                .put("temperature", plan.temperature())
                .put("family", family)
                .put("repeat", repeat);
    }

    private void handWritten(List<Jobs.Job> jobs) {
        for (Map.Entry<String, String> harness : Harnesses.handWritten().entrySet()) {
            scorings(jobs, harness.getKey(), harness.getValue(), "dev", 0);
            scorings(jobs, harness.getKey(), harness.getValue(), "held_out", 0);
        }
    }

    private void noise(List<Jobs.Job> jobs) {
        for (Map.Entry<String, String> harness : Harnesses.handWritten().entrySet()) {
            scorings(jobs, harness.getKey(), harness.getValue(), "dev", 1);
        }
    }

    private void demonstrations(List<Jobs.Job> jobs) {
        for (Map.Entry<String, String> harness : Harnesses.demonstrations().entrySet()) {
            scorings(jobs, "demonstration " + harness.getKey(), harness.getValue(), "dev", 0);
        }
    }

    private void scorings(List<Jobs.Job> jobs, String name, String source, String split, int scoring) {
        for (String family : plan.families()) {
            scoring(jobs, name, source, family, split, scoring);
        }
    }

    private void scoring(List<Jobs.Job> jobs, String name, String source, String family, String split, int scoring) {
        if (split.equals("held_out") && plan.heldOut() == 0) {
            return;
        }
        String key = key("scoring", name, family, split, Integer.toString(scoring));
        if (missing(key)) {
            jobs.add(() -> score(name, source, family, split, scoring, key));
        }
    }

    private boolean score(String name, String source, String family, String split, int scoring, String key) {
        ObjectNode body = request(family, 0, plan.heldOut());
        body.putObject("harness").put("source", source);
        body.put("split", split);
        // Equal questions of equal harnesses are answered from a cache within one repeat.
        body.put("repeat", scoring);
        JsonNode run = ordered("/evaluations", "/evaluations", body, key);
        if (run == null) {
            return false;
        }
        ObjectNode line = Json.mapper().createObjectNode();
        line.put("type", "scoring")
                .put("name", name)
                .put("family", family)
                .put("split", split)
                .put("scoring", scoring);
        line.put("source", source);
        line.set("harness", run.path("harness"));
        line.set("run", run.path("id"));
        line.set("usage", run.path("usage"));
        line.set("scores", Candidates.scores(run.path("questions")));
        add(key, List.of(line));
        experiment.say(
                "%s %s, %s: %s", name, family, split, run.at("/score/mean").asString("-"));
        return true;
    }

    private void chains(List<Jobs.Job> jobs) {
        if (plan.rounds() == 0) {
            return;
        }
        for (String family : plan.families()) {
            for (Arm arm : plan.arms()) {
                String key = key("chain", arm.name(), family, plan.rounds() + "x" + plan.chainCandidates());
                if (missing(key)) {
                    jobs.add(() -> chain(arm, family, key));
                }
            }
        }
    }

    private boolean chain(Arm arm, String family, String key) {
        ObjectNode body = request(family, 0, plan.heldOut());
        body.put("candidates", plan.chainCandidates());
        body.put("rounds", plan.rounds());
        body.put("selection", "keep_incumbent");
        body.put("allow_missing_held_out", true);
        body.set("proposer", proposer(arm));
        JsonNode run = ordered("/adapt", "/adaptations", body, key);
        if (run == null) {
            return false;
        }
        String path = "/adaptations/" + run.path("id").asString("");
        ObjectNode line = line("chain", arm, family, 0);
        line.set("run", run.path("id"));
        line.set("baseline", run.path("baseline"));
        line.set("result", run.path("result"));
        line.set("usage", run.path("usage"));
        ArrayNode rounds = line.putArray("rounds");
        for (JsonNode round : run.path("rounds")) {
            ObjectNode kept = rounds.addObject();
            kept.set("index", round.path("index"));
            kept.set("parent", round.path("parent"));
            kept.set("chosen", round.path("chosen"));
            kept.set("report", round.path("report"));
            ArrayNode candidates = Json.mapper().createArrayNode();
            for (JsonNode candidate : round.path("candidates")) {
                candidates.add(experiment
                        .client()
                        .get(path + "/rounds/" + round.path("index").asInt(0) + "/candidates/"
                                + candidate.path("index").asInt(0)));
            }
            kept.set("candidates", Candidates.of(experiment, candidates));
        }
        add(key, List.of(line));
        experiment.say(
                "%s %s, %d rounds: held-out %s -> %s",
                arm.name(),
                family,
                run.path("rounds").size(),
                run.at("/result/held_out/seed/mean").asString("-"),
                run.at("/result/held_out/result/mean").asString("-"));
        return true;
    }

    /** The best of an arm's proposals by their dev scores, on held-out questions. */
    private void best(List<Jobs.Job> jobs) {
        Map<String, JsonNode> best = new HashMap<>();
        for (JsonNode line : file.lines("proposal")) {
            if (!ours(line)
                    || line.path("repeat").asInt(0) != 0
                    || !line.path("outcome").asString("").equals("scored")) {
                continue;
            }
            best.merge(
                    line.path("arm").asString("") + "|" + line.path("family").asString(""),
                    line,
                    (one, other) ->
                            other.path("mean").asDouble(0) > one.path("mean").asDouble(0) ? other : one);
        }
        best.forEach((name, line) -> {
            String arm = line.path("arm").asString("");
            if (plan.arms().stream().anyMatch(known -> known.name().equals(arm))) {
                scoring(
                        jobs,
                        "best of " + arm,
                        line.path("source").asString(""),
                        line.path("family").asString(""),
                        "held_out",
                        0);
            }
        });
    }
}
