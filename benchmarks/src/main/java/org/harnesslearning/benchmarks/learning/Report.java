package org.harnesslearning.benchmarks.learning;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.ToDoubleFunction;
import org.harnesslearning.tasks.statistics.Bootstrap;
import org.harnesslearning.tasks.statistics.Interval;
import org.harnesslearning.tasks.statistics.Wilson;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * All tables of the experiment as Markdown, from the raw files alone. Means over families weigh each family alike, and
 * their intervals resample families: questions of one family and edits of one report are not independent. An invalid edit
 * counts 0; what infrastructure lost is left out and counted. Arms are compared on the families that all of them have.
 */
final class Report {
    /** Below it a proposal counts as failed: several scorers pay a little for any answer. */
    static final double ZERO = 0.05;

    private static final double LEVEL = 0.95;
    private static final long SEED = 1;
    private static final List<String> ARMS = List.of("untrained", "demonstrations", "sft", "grpo");
    static final int CURVE_ROWS = 16;
    private static final int EXAMPLES = 3;

    private final RawFile outcomes;
    private final RawFile corpus;
    private final RawFile training;
    private final RawFile samples;
    private final StringBuilder out = new StringBuilder();

    Report(Path folder) {
        this.outcomes = new RawFile(folder, Experiment.OUTCOMES);
        this.corpus = new RawFile(folder, Experiment.CORPUS);
        this.training = new RawFile(folder, Experiment.TRAINING);
        this.samples = new RawFile(folder, Experiment.SAMPLES);
    }

    /** One edit that an arm wrote; {@code mean} and {@code strict} are 0 where it is invalid. */
    private record Proposal(
            String arm, String family, boolean valid, boolean duplicate, double mean, double strict, JsonNode line) {}

    /** The same measurements of one set of families with one solver. */
    private record Scope(String set, String solver) {}

    String text() {
        corpus();
        training();
        samples();
        Set<Scope> scopes = new LinkedHashSet<>();
        outcomes.lines()
                .forEach(line -> scopes.add(new Scope(
                        line.path("set").asString(""), line.path("solver").asString(""))));
        scopes.forEach(this::scope);
        return out.toString();
    }

    // --- corpus and training ---------------------------------------------------------------------------------------

    private void corpus() {
        if (corpus.lines().isEmpty()) {
            return;
        }
        heading("Corpus");
        Map<Integer, Map<String, Integer>> byReason = new TreeMap<>();
        Map<Integer, Set<String>> families = new TreeMap<>();
        Map<Integer, Set<String>> gave = new TreeMap<>();
        Map<Integer, Map<String, Integer>> byDemonstration = new TreeMap<>();
        for (JsonNode line : corpus.lines("edit")) {
            int pass = line.path("pass").asInt(0);
            JsonNode row = line.path("row");
            String reason = row.path("reason").asString("");
            String family = row.path("family").asString("");
            byReason.computeIfAbsent(pass, key -> new TreeMap<>())
                    .merge(reason.isEmpty() ? "accepted" : reason, 1, Integer::sum);
            families.computeIfAbsent(pass, key -> new TreeSet<>()).add(family);
            if (reason.isEmpty()) {
                gave.computeIfAbsent(pass, key -> new TreeSet<>()).add(family);
                byDemonstration
                        .computeIfAbsent(pass, key -> new TreeMap<>())
                        .merge(row.path("demonstration").asString("none"), 1, Integer::sum);
            }
        }
        table(
                "Pass",
                "Families",
                "Edits",
                "Accepted",
                "Families with accepted",
                "Accepted by demonstration",
                "Rejected");
        byReason.forEach((pass, reasons) -> {
            Map<String, Integer> rejected = new TreeMap<>(reasons);
            int accepted = reasons.getOrDefault("accepted", 0);
            rejected.remove("accepted");
            row(
                    pass,
                    families.getOrDefault(pass, Set.of()).size(),
                    reasons.values().stream().mapToInt(Integer::intValue).sum(),
                    accepted,
                    gave.getOrDefault(pass, Set.of()).size(),
                    counted(byDemonstration.getOrDefault(pass, Map.of())),
                    counted(rejected));
        });
        out.append('\n');
    }

    private void training() {
        Map<String, List<JsonNode>> byStage = new LinkedHashMap<>();
        training.lines("step")
                .forEach(line -> byStage.computeIfAbsent(line.path("stage").asString(""), key -> new ArrayList<>())
                        .add(line));
        byStage.forEach((stage, steps) -> {
            heading("Training: " + stage);
            List<String> names = List.of(
                            "loss",
                            "held_out_loss",
                            "reward",
                            "reward_with_bonus",
                            "valid_rate",
                            "zero_spread_share",
                            "kl",
                            "entropy",
                            "clip_share",
                            "sampler_gap",
                            "grad_norm",
                            "tokens_per_second")
                    .stream()
                    .filter(name ->
                            steps.stream().anyMatch(step -> step.path("metrics").has(name)))
                    .toList();
            List<String> header = new ArrayList<>(List.of("Steps"));
            header.addAll(names);
            header.add("s a step");
            table(header.toArray(String[]::new));
            // Means over windows: single batches of few groups say little.
            int window = Math.max(1, (steps.size() + CURVE_ROWS - 1) / CURVE_ROWS);
            for (int from = 0; from < steps.size(); from += window) {
                List<JsonNode> part = steps.subList(from, Math.min(steps.size(), from + window));
                List<Object> cells = new ArrayList<>();
                String first = part.getFirst().path("step").asString("");
                String last = part.getLast().path("step").asString("");
                cells.add(first.equals(last) ? first : first + "–" + last);
                names.forEach(name -> cells.add(
                        mean(part, step -> step.path("metrics").path(name).asDouble(Double.NaN))));
                cells.add(mean(part, step -> step.path("ms").asDouble(Double.NaN) / 1000));
                row(cells.toArray());
            }
            Map<String, Integer> counts = new TreeMap<>();
            steps.forEach(step -> step.path("counts")
                    .properties()
                    .forEach(entry ->
                            counts.merge(entry.getKey(), entry.getValue().asInt(0), Integer::sum)));
            List<String> checks = training.lines("check").stream()
                    .filter(check -> check.path("stage").asString("").equals(stage))
                    .map(check -> "step " + check.path("step").asInt(0) + " "
                            + number(check.path("score").asDouble(0)))
                    .distinct()
                    .toList();
            if (!checks.isEmpty()) {
                out.append("\nMean score of kept versions on the withheld families: ")
                        .append(String.join(", ", checks))
                        .append('\n');
            }
            out.append("\nSums of counts: ").append(counted(counts)).append("\n\n");
        });
    }

    private void samples() {
        Map<String, List<JsonNode>> byStage = new LinkedHashMap<>();
        samples.lines("group")
                .forEach(line -> byStage.computeIfAbsent(line.path("stage").asString(""), key -> new ArrayList<>())
                        .add(line));
        byStage.forEach((stage, groups) -> {
            heading("Samples: " + stage);
            new SampleTables(groups, out).write();
        });
    }

    private static String mean(List<JsonNode> steps, ToDoubleFunction<JsonNode> value) {
        double[] values =
                steps.stream().mapToDouble(value).filter(Double::isFinite).toArray();
        double sum = 0;
        for (double one : values) {
            sum += one;
        }
        return values.length == 0 ? "" : String.format(Locale.ROOT, "%.4g", sum / values.length);
    }

    // --- evaluation ------------------------------------------------------------------------------------------------

    private void scope(Scope scope) {
        List<JsonNode> lines = outcomes.lines().stream()
                .filter(line -> line.path("set").asString("").equals(scope.set())
                        && line.path("solver").asString("").equals(scope.solver()))
                .toList();
        List<Proposal> all = lines.stream()
                .filter(line -> line.path("type").asString("").equals("proposal"))
                .filter(line -> Set.of("scored", "invalid")
                        .contains(line.path("outcome").asString("")))
                .map(Report::proposal)
                .toList();
        Map<String, Long> lost = new TreeMap<>();
        lines.stream()
                .filter(line -> line.path("type").asString("").equals("proposal"))
                .filter(line -> !Set.of("scored", "invalid")
                        .contains(line.path("outcome").asString("")))
                .forEach(line -> lost.merge(line.path("arm").asString(""), 1L, Long::sum));
        Set<String> arms = new LinkedHashSet<>();
        all.stream()
                .map(Proposal::arm)
                .sorted(Comparator.comparingInt(Report::place))
                .forEach(arms::add);
        Set<String> common = common(all, arms);
        Map<String, Map<String, List<Double>>> dev = scorings(lines, "dev", 0);
        heading("Families: " + scope.set() + ", solver: " + scope.solver());
        if (!all.isEmpty()) {
            out.append("### Proposals\n\n");
            proposals(all, arms, common, lost);
            Set<String> reachable = reachable(dev, common);
            if (!reachable.isEmpty() && reachable.size() < common.size()) {
                out.append("Only the families where *tags* or *program* reaches ")
                        .append(ZERO)
                        .append(":\n\n");
                proposals(all, arms, reachable, lost);
            }
            differences(all, arms, common, dev);
            codes(all, arms);
        }
        handWritten(lines, dev);
        chains(lines, all, common);
        perFamily(all, arms, dev);
        examples(all, arms, dev);
    }

    /** Arms in the order of the experiment; jobs end in any order. */
    private static int place(String arm) {
        int place = ARMS.indexOf(arm.replaceFirst("@.*", ""));
        return place < 0 ? ARMS.size() : place;
    }

    private static Proposal proposal(JsonNode line) {
        boolean valid = line.path("outcome").asString("").equals("scored");
        return new Proposal(
                line.path("arm").asString(""),
                line.path("family").asString(""),
                valid,
                line.has("duplicate_of"),
                valid ? line.path("mean").asDouble(0) : 0,
                valid ? line.path("strict").asDouble(0) : 0,
                line);
    }

    private static Set<String> common(List<Proposal> all, Set<String> arms) {
        Map<String, Set<String>> byFamily = new TreeMap<>();
        all.forEach(proposal -> byFamily.computeIfAbsent(proposal.family(), key -> new HashSet<>())
                .add(proposal.arm()));
        Set<String> common = new TreeSet<>();
        byFamily.forEach((family, has) -> {
            if (has.size() == arms.size()) {
                common.add(family);
            }
        });
        return common;
    }

    /** Scores by harness and family. */
    private static Map<String, Map<String, List<Double>>> scorings(List<JsonNode> lines, String split, int scoring) {
        Map<String, Map<String, List<Double>>> found = new LinkedHashMap<>();
        for (JsonNode line : lines) {
            if (line.path("type").asString("").equals("scoring")
                    && line.path("split").asString("").equals(split)
                    && line.path("scoring").asInt(-1) == scoring) {
                found.computeIfAbsent(line.path("name").asString(""), key -> new TreeMap<>())
                        .put(line.path("family").asString(""), scores(line, "score"));
            }
        }
        return found;
    }

    private static List<Double> scores(JsonNode line, String field) {
        List<Double> scores = new ArrayList<>();
        line.path("scores")
                .forEach(score -> scores.add(
                        score.path(field).isBoolean()
                                ? (score.path(field).asBoolean(false) ? 1.0 : 0.0)
                                : score.path(field).asDouble(0)));
        return scores;
    }

    private static Set<String> reachable(Map<String, Map<String, List<Double>>> dev, Set<String> families) {
        Set<String> reachable = new TreeSet<>();
        for (String name : List.of("tags", "program")) {
            dev.getOrDefault(name, Map.of()).forEach((family, scores) -> {
                if (families.contains(family) && average(scores) >= ZERO) {
                    reachable.add(family);
                }
            });
        }
        return reachable;
    }

    private void proposals(List<Proposal> all, Set<String> arms, Set<String> families, Map<String, Long> lost) {
        table(
                "Arm",
                "Families",
                "Edits",
                "Lost",
                "Valid (95 %)",
                "Duplicates",
                "Mean (95 %)",
                "Strict",
                "Failed or < 0.05",
                "Best of n (95 %)",
                "n",
                "Similarity to the demonstration");
        for (String arm : arms) {
            List<Proposal> own = all.stream()
                    .filter(proposal -> proposal.arm().equals(arm) && families.contains(proposal.family()))
                    .toList();
            if (own.isEmpty()) {
                continue;
            }
            long valid = own.stream().filter(Proposal::valid).count();
            Interval wilson = Wilson.interval(valid, own.size(), LEVEL);
            row(
                    arm,
                    families.size(),
                    own.size(),
                    lost.getOrDefault(arm, 0L),
                    String.format(
                            Locale.ROOT,
                            "%s (%s to %s)",
                            percent((double) valid / own.size()),
                            percent(wilson.low()),
                            percent(wilson.high())),
                    percent(own.stream().filter(Proposal::duplicate).count() / (double) own.size()),
                    interval(familyMeans(own, Proposal::mean)),
                    number(average(
                            List.copyOf(familyMeans(own, Proposal::strict).values()))),
                    percent(own.stream()
                                    .filter(proposal -> proposal.mean() < ZERO)
                                    .count()
                            / (double) own.size()),
                    interval(best(own)),
                    number((double) own.size() / families.size()),
                    similarity(own));
        }
        out.append('\n');
    }

    private static String similarity(List<Proposal> own) {
        double[] values = own.stream()
                .mapToDouble(proposal -> proposal.line().path("similarity").asDouble(Double.NaN))
                .filter(Double::isFinite)
                .toArray();
        double sum = 0;
        for (double value : values) {
            sum += value;
        }
        return values.length == 0 ? "–" : number(sum / values.length);
    }

    private static Map<String, Double> familyMeans(List<Proposal> own, ToDoubleFunction<Proposal> value) {
        Map<String, List<Double>> byFamily = new TreeMap<>();
        own.forEach(proposal -> byFamily.computeIfAbsent(proposal.family(), key -> new ArrayList<>())
                .add(value.applyAsDouble(proposal)));
        Map<String, Double> means = new TreeMap<>();
        byFamily.forEach((family, values) -> means.put(family, average(values)));
        return means;
    }

    /** The best edit of each report by its own scores (an oracle), as a mean over a family's reports. */
    private static Map<String, Double> best(List<Proposal> own) {
        Map<String, Map<Integer, Double>> byReport = new TreeMap<>();
        own.forEach(proposal -> byReport.computeIfAbsent(proposal.family(), key -> new HashMap<>())
                .merge(proposal.line().path("repeat").asInt(0), proposal.mean(), Math::max));
        Map<String, Double> best = new TreeMap<>();
        byReport.forEach((family, reports) -> best.put(family, average(List.copyOf(reports.values()))));
        return best;
    }

    private void differences(
            List<Proposal> all, Set<String> arms, Set<String> common, Map<String, Map<String, List<Double>>> dev) {
        Map<String, Map<String, Double>> means = new LinkedHashMap<>();
        for (String arm : arms) {
            means.put(
                    arm,
                    familyMeans(
                            all.stream()
                                    .filter(proposal -> proposal.arm().equals(arm))
                                    .toList(),
                            Proposal::mean));
        }
        List<String> names = List.copyOf(arms);
        for (String name : List.of("seed", "tags", "program")) {
            if (dev.containsKey(name)) {
                Map<String, Double> byFamily = new TreeMap<>();
                dev.getOrDefault(name, Map.of()).forEach((family, scores) -> byFamily.put(family, average(scores)));
                means.put("*" + name + "*", byFamily);
            }
        }
        out.append("Mean difference of family means (95 %), row minus column:\n\n");
        List<String> header = new ArrayList<>(List.of(""));
        header.addAll(means.keySet());
        table(header.toArray(String[]::new));
        for (String arm : names) {
            List<Object> cells = new ArrayList<>(List.of(arm));
            means.forEach((other, values) ->
                    cells.add(other.equals(arm) ? "" : difference(means.getOrDefault(arm, Map.of()), values, common)));
            row(cells.toArray());
        }
        out.append('\n');
    }

    private static String difference(Map<String, Double> one, Map<String, Double> other, Set<String> families) {
        Map<String, Double> differences = new TreeMap<>();
        one.forEach((family, value) -> {
            Double against = other.get(family);
            if (against != null && families.contains(family)) {
                differences.put(family, value - against);
            }
        });
        return differences.isEmpty() ? "–" : interval(differences);
    }

    private void codes(List<Proposal> all, Set<String> arms) {
        out.append("Invalid edits by code:\n\n");
        table("Arm", "Invalid", "Codes");
        for (String arm : arms) {
            Map<String, Integer> codes = new TreeMap<>();
            all.stream()
                    .filter(proposal -> proposal.arm().equals(arm) && !proposal.valid())
                    .forEach(
                            proposal -> codes.merge(proposal.line().path("code").asString("?"), 1, Integer::sum));
            row(arm, codes.values().stream().mapToInt(Integer::intValue).sum(), counted(codes));
        }
        out.append('\n');
    }

    private void handWritten(List<JsonNode> lines, Map<String, Map<String, List<Double>>> dev) {
        if (dev.isEmpty()) {
            return;
        }
        Map<String, Map<String, List<Double>>> heldOut = scorings(lines, "held_out", 0);
        Map<String, Map<String, List<Double>>> again = scorings(lines, "dev", 1);
        out.append("### Harnesses that were not learned\n\n");
        table(
                "Harness",
                "Families",
                "Mean (95 %)",
                "Strict",
                "Families < 0.05",
                "Held-out mean",
                "A/A: mean absolute difference of a question",
                "A/A: difference of the means");
        dev.forEach((name, families) -> {
            Map<String, Double> means = averages(families);
            Map<String, List<Double>> second = again.getOrDefault(name, Map.of());
            List<Double> absolute = new ArrayList<>();
            List<Double> signed = new ArrayList<>();
            families.forEach((family, scores) -> {
                List<Double> repeated = second.getOrDefault(family, List.of());
                for (int i = 0; i < Math.min(scores.size(), repeated.size()); i++) {
                    absolute.add(Math.abs(scores.get(i) - repeated.get(i)));
                    signed.add(repeated.get(i) - scores.get(i));
                }
            });
            row(
                    name,
                    means.size(),
                    interval(means),
                    number(average(strict(lines, name))),
                    means.values().stream().filter(mean -> mean < ZERO).count(),
                    heldOut.containsKey(name) ? interval(averages(heldOut.getOrDefault(name, Map.of()))) : "–",
                    absolute.isEmpty() ? "–" : number(average(absolute)),
                    signed.isEmpty() ? "–" : number(average(signed)));
        });
        out.append('\n');
    }

    private static List<Double> strict(List<JsonNode> lines, String name) {
        List<Double> families = new ArrayList<>();
        lines.stream()
                .filter(line -> line.path("type").asString("").equals("scoring")
                        && line.path("name").asString("").equals(name)
                        && line.path("split").asString("").equals("dev")
                        && line.path("scoring").asInt(-1) == 0)
                .forEach(line -> families.add(average(scores(line, "strict"))));
        return families;
    }

    private static Map<String, Double> averages(Map<String, List<Double>> families) {
        Map<String, Double> means = new TreeMap<>();
        families.forEach((family, scores) -> means.put(family, average(scores)));
        return means;
    }

    /** A chain of revisions, on dev questions by round and on held-out ones at its end. */
    private record Chain(List<Double> byRound, double heldOutSeed, double heldOut) {}

    private void chains(List<JsonNode> lines, List<Proposal> all, Set<String> common) {
        Map<String, Map<String, Chain>> byArm =
                new TreeMap<>(Comparator.comparingInt(Report::place).thenComparing(Comparator.naturalOrder()));
        for (JsonNode line : lines) {
            if (line.path("type").asString("").equals("chain")) {
                Chain chain = chain(line);
                if (chain != null) {
                    byArm.computeIfAbsent(line.path("arm").asString(""), key -> new TreeMap<>())
                            .put(line.path("family").asString(""), chain);
                }
            }
        }
        if (byArm.isEmpty()) {
            return;
        }
        Map<String, Map<String, List<Double>>> heldOut = scorings(lines, "held_out", 0);
        out.append("### Sequential revisions beside the best of independent ones\n\n")
                .append(
                        "Dev: the questions that the rule of the chain and the oracle choose by. Held-out: chosen on dev,")
                .append(" scored on others.\n\n");
        table(
                "Arm",
                "Families",
                "Dev by round (0 = start)",
                "Best of n, dev",
                "Chain − best of n, dev (95 %)",
                "Held-out start",
                "Held-out chain (95 %)",
                "Held-out best of n",
                "Chain − best of n, held-out (95 %)");
        byArm.forEach((arm, chains) -> {
            int rounds = chains.values().stream()
                    .mapToInt(chain -> chain.byRound().size())
                    .max()
                    .orElse(1);
            List<String> curve = new ArrayList<>();
            for (int round = 0; round < rounds; round++) {
                List<Double> values = new ArrayList<>();
                for (Chain chain : chains.values()) {
                    values.add(
                            chain.byRound().get(Math.min(round, chain.byRound().size() - 1)));
                }
                curve.add(number(average(values)));
            }
            Map<String, Double> ends = new TreeMap<>();
            Map<String, Double> outside = new TreeMap<>();
            Map<String, Double> starts = new TreeMap<>();
            chains.forEach((family, chain) -> {
                ends.put(family, chain.byRound().getLast());
                if (Double.isFinite(chain.heldOut())) {
                    outside.put(family, chain.heldOut());
                    starts.put(family, chain.heldOutSeed());
                }
            });
            // Chains have the questions of the first report.
            Map<String, Double> best = best(all.stream()
                    .filter(proposal -> proposal.arm().equals(arm)
                            && proposal.line().path("repeat").asInt(0) == 0)
                    .toList());
            // Where no edit was valid there is no best one: the start stays.
            Map<String, Double> bestOutside = new TreeMap<>(starts);
            bestOutside.putAll(averages(heldOut.getOrDefault("best of " + arm, Map.of())));
            Set<String> families = new TreeSet<>(chains.keySet());
            if (!common.isEmpty()) {
                families.retainAll(common);
            }
            Map<String, Double> oracle = new TreeMap<>(best);
            oracle.keySet().retainAll(families);
            row(
                    arm,
                    chains.size(),
                    String.join(" → ", curve),
                    oracle.isEmpty() ? "–" : number(average(List.copyOf(oracle.values()))),
                    difference(ends, best, families),
                    starts.isEmpty() ? "–" : number(average(List.copyOf(starts.values()))),
                    outside.isEmpty() ? "–" : interval(outside),
                    heldOut.containsKey("best of " + arm) ? number(average(List.copyOf(bestOutside.values()))) : "–",
                    heldOut.containsKey("best of " + arm) ? difference(outside, bestOutside, families) : "–");
        });
        out.append('\n');
    }

    private static @Nullable Chain chain(JsonNode line) {
        double now = line.at("/baseline/score/mean").asDouble(Double.NaN);
        if (!Double.isFinite(now)) {
            return null;
        }
        List<Double> byRound = new ArrayList<>(List.of(now));
        for (JsonNode round : line.path("rounds")) {
            String chosen = round.path("chosen").asString("");
            if (!chosen.equals(round.path("parent").asString(""))) {
                for (JsonNode candidate : round.path("candidates")) {
                    if (candidate.path("harness").asString("").equals(chosen) && candidate.has("mean")) {
                        now = candidate.path("mean").asDouble(now);
                    }
                }
            }
            byRound.add(now);
        }
        return new Chain(
                byRound,
                line.at("/result/held_out/seed/mean").asDouble(Double.NaN),
                line.at("/result/held_out/result/mean").asDouble(Double.NaN));
    }

    private void perFamily(List<Proposal> all, Set<String> arms, Map<String, Map<String, List<Double>>> dev) {
        Set<String> families = new TreeSet<>();
        all.forEach(proposal -> families.add(proposal.family()));
        dev.values().forEach(scored -> families.addAll(scored.keySet()));
        List<String> harnesses = List.of("seed", "tags", "program").stream()
                .filter(dev::containsKey)
                .toList();
        out.append("### By family\n\nMean of the edits / best of them; the first columns are fixed harnesses.\n\n");
        List<String> header = new ArrayList<>(List.of("Family"));
        header.addAll(harnesses);
        header.addAll(arms);
        table(header.toArray(String[]::new));
        for (String family : families) {
            List<Object> cells = new ArrayList<>(List.of(family));
            for (String name : harnesses) {
                List<Double> scores = dev.getOrDefault(name, Map.of()).getOrDefault(family, List.of());
                cells.add(scores.isEmpty() ? "–" : number(average(scores)));
            }
            for (String arm : arms) {
                List<Proposal> own = all.stream()
                        .filter(proposal ->
                                proposal.arm().equals(arm) && proposal.family().equals(family))
                        .toList();
                cells.add(
                        own.isEmpty()
                                ? "–"
                                : number(familyMeans(own, Proposal::mean).getOrDefault(family, 0.0)) + " / "
                                        + number(best(own).getOrDefault(family, 0.0)));
            }
            row(cells.toArray());
        }
        out.append('\n');
    }

    /** The last arm's edits that gain most over the minimal harness, one a family. */
    private void examples(List<Proposal> all, Set<String> arms, Map<String, Map<String, List<Double>>> dev) {
        if (arms.isEmpty()) {
            return;
        }
        String arm = List.copyOf(arms).getLast();
        Map<String, Proposal> best = new TreeMap<>();
        all.stream()
                .filter(proposal -> proposal.arm().equals(arm) && proposal.valid())
                .forEach(proposal -> best.merge(
                        proposal.family(), proposal, (one, other) -> other.mean() > one.mean() ? other : one));
        Map<String, List<Double>> seed = dev.getOrDefault("seed", Map.of());
        List<Proposal> shown = best.values().stream()
                .sorted(Comparator.comparingDouble((Proposal proposal) ->
                                average(seed.getOrDefault(proposal.family(), List.of(0.0))) - proposal.mean())
                        .thenComparing(Proposal::family))
                .limit(EXAMPLES)
                .toList();
        if (shown.isEmpty()) {
            return;
        }
        out.append("### Edits of ").append(arm).append(" that gain most\n\n");
        for (Proposal proposal : shown) {
            out.append(String.format(
                    Locale.ROOT,
                    "%s: %s → %s on %d dev questions%n%n```diff%n%s%n```%n%n",
                    proposal.family(),
                    seed.containsKey(proposal.family())
                            ? number(average(seed.getOrDefault(proposal.family(), List.of())))
                            : "–",
                    number(proposal.mean()),
                    proposal.line().path("scores").size(),
                    proposal.line().path("diff").asString("").strip()));
        }
    }

    // --- forms -----------------------------------------------------------------------------------------------------

    private void heading(String text) {
        out.append("## ").append(text).append("\n\n");
    }

    private void table(String... names) {
        table(out, names);
    }

    private void row(Object... cells) {
        row(out, cells);
    }

    static void table(StringBuilder out, String... names) {
        row(out, (Object[]) names);
        out.append("|---".repeat(names.length)).append("|\n");
    }

    static void row(StringBuilder out, Object... cells) {
        for (Object cell : cells) {
            out.append("| ").append(cell).append(' ');
        }
        out.append("|\n");
    }

    private static String interval(Map<String, Double> byFamily) {
        List<Double> values = List.copyOf(byFamily.values());
        if (values.isEmpty()) {
            return "–";
        }
        Interval interval = Bootstrap.ofMean(values, LEVEL, SEED);
        return String.format(Locale.ROOT, "%.3f (%.3f to %.3f)", average(values), interval.low(), interval.high());
    }

    static double average(List<Double> values) {
        return values.stream().mapToDouble(Double::doubleValue).average().orElse(0);
    }

    static String number(double value) {
        return String.format(Locale.ROOT, "%.3f", value);
    }

    static String percent(double share) {
        return String.format(Locale.ROOT, "%.0f %%", 100 * share);
    }

    static String counted(Map<String, Integer> counts) {
        return counts.isEmpty()
                ? "–"
                : String.join(
                        ", ",
                        counts.entrySet().stream()
                                .map(entry -> entry.getKey() + " " + entry.getValue())
                                .toList());
    }
}
