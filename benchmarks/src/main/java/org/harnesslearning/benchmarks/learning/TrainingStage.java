package org.harnesslearning.benchmarks.learning;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A training run from its order to its version, with every step's metrics and a policy run's samples in files. A run that
 * the platform still knows is taken up; on another platform the run begins anew from the furthest version that was kept.
 */
final class TrainingStage {
    /** What the end of a run takes beyond its last step. */
    private static final long END_S = 30;

    /** Two checks of equal versions differ by about that much. */
    private static final double TOLERANCE = 0.05;

    private static final int SEEDS_A_STEP = 20;

    /** Kinds of runs that sample what they are trained on. */
    private static final Set<String> POLICY = Set.of("grpo", "multistep");

    private final Experiment experiment;
    private final RawFile file;
    private final String stage;
    private final int keepEvery;
    private final @Nullable Check check;
    private final int patience;
    private @Nullable Samples samples;

    /**
     * @param stage such as {@code sft}
     * @param keepEvery steps between two versions that are kept as files while the run goes on; 0 for none
     * @param check scores each kept version; null for none
     * @param patience checks in a row that lie below the best by {@link #TOLERANCE} or more, after which the run ends with
     *     the best version
     */
    TrainingStage(Experiment experiment, String stage, int keepEvery, @Nullable Check check, int patience) {
        this.experiment = experiment;
        this.file = experiment.file(Experiment.TRAINING);
        this.stage = stage;
        this.keepEvery = keepEvery;
        this.check = check;
        this.patience = patience;
    }

    /** How good a version is, on families that are not trained on. */
    interface Check {
        /** A score; no number when there was no time for it. */
        double score(String name, String version);
    }

    /**
     * Trains, if that was not done.
     *
     * @param request for {@code POST /training-runs}, without budget
     * @param steps most steps in all
     * @return the version; null when the time was up before the end
     */
    @Nullable
    String run(ObjectNode request, int steps) {
        String ended = experiment.version(stage);
        if (ended != null) {
            experiment.say("%s: done before, %s", stage, ended);
            return ended;
        }
        String id = goesOn();
        if (id == null) {
            id = order(request, steps);
        }
        return follow(id);
    }

    /** The run of an earlier start, if this platform has it and it can go on. */
    private @Nullable String goesOn() {
        String id = null;
        for (JsonNode line : file.lines("ordered")) {
            if (line.path("stage").asString("").equals(stage)) {
                id = line.path("run").asString("");
            }
        }
        JsonNode run = id == null
                ? null
                : experiment.client().find("/training-runs/" + id).orElse(null);
        if (id == null || run == null) {
            return null;
        }
        return switch (run.path("state").asString("")) {
            case "failed", "cancelled" -> null;
            case "paused" -> {
                experiment.client().control("/training-runs/" + id + "/resume");
                experiment.say(
                        "%s: %s goes on at step %d",
                        stage, id, run.at("/progress/done").asLong(0));
                yield id;
            }
            default -> id;
        };
    }

    private String order(ObjectNode request, int steps) {
        ObjectNode body = request.deepCopy();
        long left = Math.max(1, experiment.deadline().left().toSeconds() - END_S);
        int done = 0;
        JsonNode furthest = experiment.furthest(stage);
        if (furthest != null) {
            done = furthest.path("step").asInt(0);
            String version = furthest.path("version").asString("");
            experiment.bringVersion(version);
            body.put("parent", version);
            // Other questions than those that the steps before have seen.
            body.put("seed", request.path("seed").asInt(1) + SEEDS_A_STEP * done);
            experiment.say("%s: begins from its kept version of step %d, with a new optimiser", stage, done);
        }
        body.putObject("budget").put("steps", Math.max(1, steps - done)).put("wall_clock_s", left);
        JsonNode run =
                experiment.client().post("/training-runs", body, experiment.key(stage + " " + UUID.randomUUID()));
        String id = run.path("id").asString("");
        ObjectNode line = Json.mapper().createObjectNode();
        line.put("type", "ordered").put("stage", stage).put("run", id).put("first_step", done);
        line.set("request", body);
        file.add(List.of(line));
        experiment.say("%s: %s ordered, at most %d steps and %d s", stage, id, steps - done, left);
        return id;
    }

    private @Nullable String follow(String id) {
        String path = "/training-runs/" + id;
        long first = 0;
        long after = 0;
        for (JsonNode line : file.lines()) {
            if (line.path("run").asString("").equals(id)) {
                first = Math.max(first, line.path("first_step").asLong(0));
                after = Math.max(after, line.path("run_step").asLong(0));
            }
        }
        long asked = after / Math.max(1, keepEvery);
        boolean pausing = false;
        int worse = 0;
        // What an earlier start has not stored comes with the first look.
        long sampled = -1;
        while (true) {
            JsonNode run = experiment.client().get(path);
            after = steps(id, first, after);
            String state = run.path("state").asString("");
            boolean ended = PlatformClient.ended(run);
            if (ended) {
                after = steps(id, first, after);
            }
            boolean still = ended || state.equals("paused");
            if (after > sampled || still) {
                samples(run, first, after, still);
                sampled = after;
            }
            if (ended) {
                return end(id, run, first);
            }
            if (state.equals("paused")) {
                keepNewest(id, first);
                if (worse >= patience) {
                    experiment.client().control(path + "/cancel");
                    return best();
                }
                experiment.say(
                        "%s: paused at step %d: %s",
                        stage, first + after, run.path("message").asString(""));
                if (!pausing) {
                    throw new LearnException(
                            stage + " paused: " + run.path("message").asString(""));
                }
                return null;
            }
            if (keepEvery > 0 && after / keepEvery > asked) {
                asked = after / keepEvery;
                worse = check(keepNewest(id, first), worse);
                if (worse >= patience && !pausing) {
                    pausing = true;
                    experiment.say("%s: %d checks in a row below the best: the run ends", stage, worse);
                    experiment.client().control(path + "/pause");
                }
            }
            if (!pausing && experiment.deadline().over()) {
                pausing = true;
                experiment.say("%s: the time is up; the run pauses", stage);
                experiment.client().control(path + "/pause");
            }
            PlatformClient.pause(experiment.poll());
        }
    }

    /** Stores the samples that a policy run's steps so far were computed from. */
    private void samples(JsonNode run, long first, long done, boolean last) {
        if (POLICY.contains(run.path("kind").asString(""))) {
            Samples known = samples == null ? new Samples(experiment, stage) : samples;
            samples = known;
            int iterations = run.at("/settings/method/iterations").asInt(1);
            known.read(run.path("id").asString(""), first, done, iterations, last);
        }
    }

    /** Stores new steps; returns the last one. */
    private long steps(String id, long first, long from) {
        long after = from;
        List<ObjectNode> lines = new ArrayList<>();
        for (JsonNode step : experiment
                .client()
                .get("/training-runs/" + id + "/metrics?after=" + from)
                .path("data")) {
            after = step.path("step").asLong(after);
            ObjectNode line = Json.mapper().createObjectNode();
            line.put("type", "step")
                    .put("stage", stage)
                    .put("run", id)
                    .put("run_step", after)
                    .put("step", first + after);
            line.set("metrics", step.path("metrics"));
            line.set("counts", step.path("counts"));
            line.set("ms", step.path("ms"));
            lines.add(line);
            experiment.say("%s step %d: %s", stage, first + after, shown(step.path("metrics")));
        }
        file.add(lines);
        return after;
    }

    private static String shown(JsonNode metrics) {
        StringBuilder text = new StringBuilder();
        for (String name : List.of(
                "loss",
                "held_out_loss",
                "reward",
                "reward_with_bonus",
                "valid_rate",
                "zero_spread_share",
                "kl",
                "entropy",
                "grad_norm",
                "tokens_per_second")) {
            if (metrics.has(name)) {
                text.append(String.format(
                        Locale.ROOT, "%s %.4g  ", name, metrics.path(name).asDouble(Double.NaN)));
            }
        }
        return text.toString().strip();
    }

    private @Nullable String end(String id, JsonNode run, long first) {
        ObjectNode line = Json.mapper().createObjectNode();
        line.put("type", "ended").put("stage", stage).put("run", id);
        line.set("whole", run);
        file.add(List.of(line));
        String version = run.at("/result/version").asString("");
        if (!run.path("state").asString("").equals("succeeded") || version.isEmpty()) {
            throw new LearnException(stage + " " + run.path("state").asString("") + ": "
                    + run.path("message").asString("no version"));
        }
        experiment.keep(stage, id, version, first + run.at("/result/step").asLong(0), true);
        check(experiment.furthest(stage), 0);
        return best();
    }

    /** Scores a kept version; returns how many checks in a row lie below the best one. */
    private int check(@Nullable JsonNode line, int worse) {
        if (line == null || check == null) {
            return worse;
        }
        String version = line.path("version").asString("");
        double score = check.score(stage + "@" + line.path("step").asInt(0), version);
        if (!Double.isFinite(score)) {
            return worse;
        }
        double highest = file.lines("check").stream()
                .filter(earlier -> earlier.path("stage").asString("").equals(stage))
                .mapToDouble(earlier -> earlier.path("score").asDouble(0))
                .max()
                .orElse(score);
        ObjectNode checked = Json.mapper().createObjectNode();
        checked.put("type", "check").put("stage", stage).put("version", version).put("score", score);
        checked.set("step", line.path("step"));
        file.add(List.of(checked));
        experiment.say(
                "%s: version of step %d scores %.3f on the withheld families, the best so far %.3f",
                stage, line.path("step").asInt(0), score, Math.max(score, highest));
        return score < highest - TOLERANCE ? worse + 1 : 0;
    }

    /** The version with the best check, or the last one where there were none; it is what the stage ends with. */
    private @Nullable String best() {
        JsonNode chosen = file.lines("check").stream()
                .filter(line -> line.path("stage").asString("").equals(stage))
                .max(Comparator.comparingDouble(
                                (JsonNode line) -> line.path("score").asDouble(0))
                        .thenComparingInt(line -> line.path("step").asInt(0)))
                .orElse(null);
        if (chosen != null) {
            experiment.settle(stage, chosen.path("version").asString(""));
        }
        return experiment.version(stage);
    }

    /** Keeps the newest version that the run has published; null when it is kept already. */
    private @Nullable JsonNode keepNewest(String id, long first) {
        JsonNode newest = null;
        for (JsonNode version : experiment
                .client()
                .find("/models/" + experiment.base() + "/versions?limit=20")
                .map(found -> found.path("data"))
                .orElse(Json.mapper().createArrayNode())) {
            if (version.path("run").asString("").equals(id)
                    && (newest == null
                            || version.path("step").asLong(0)
                                    > newest.path("step").asLong(0))) {
                newest = version;
            }
        }
        String hash = newest == null ? "" : newest.path("id").asString("");
        boolean kept = experiment.versions().stream()
                .anyMatch(line -> line.path("rounded_from").asString("").equals(hash));
        if (newest == null || newest.path("step").asLong(0) == 0 || kept) {
            return null;
        }
        experiment.keep(stage, id, hash, first + newest.path("step").asLong(0), false);
        return experiment.furthest(stage);
    }
}
