package org.harnesslearning.benchmarks.learning;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.tasks.SeedHarness;
import tools.jackson.databind.JsonNode;

/** The samples of a policy run as tables: how rewards, faults and copies of demonstrations changed while it was trained. */
final class SampleTables {
    private static final String MINIMAL = Hashes.harness(SeedHarness.MINIMAL);
    private static final List<String> THIRDS = List.of("first", "second", "third");

    private final List<JsonNode> groups;
    private final StringBuilder out;
    private final Map<String, String> demonstrations = new HashMap<>();

    /** @param groups lines of the file of samples, of one stage, in their order; those that failed have no samples */
    SampleTables(List<JsonNode> groups, StringBuilder out) {
        this.groups = groups.stream()
                .filter(group -> !group.path("samples").isEmpty())
                .toList();
        this.out = out;
        Harnesses.demonstrations().forEach((name, source) -> demonstrations.putIfAbsent(Hashes.harness(source), name));
    }

    void write() {
        out.append(
                        "Rewards without bonus and valid shares are over samples with a reward, by whether the edited state is the ")
                .append("minimal harness or one that was edited before.\n\n");
        bySteps();
        out.append("\n*Like a demonstration*: edits of all whose result is, byte by byte, that of a shipped one.\n\n");
        byThirds();
        out.append(
                        "\nMean reward of edits of the minimal harness, in the first and the last third of their groups; the row ")
                .append("*all* weighs alike the families that have both:\n\n");
        byFamilies();
        out.append('\n');
    }

    private void bySteps() {
        List<List<JsonNode>> steps = new ArrayList<>();
        for (JsonNode group : groups) {
            if (steps.isEmpty() || !step(steps.getLast().getFirst()).equals(step(group))) {
                steps.add(new ArrayList<>());
            }
            steps.getLast().add(group);
        }
        Report.table(
                out,
                "Steps",
                "Groups",
                "Samples",
                "Without reward",
                "Minimal: samples",
                "Reward",
                "Valid",
                "Others: samples",
                "Reward",
                "Valid",
                "Tokens");
        int window = Math.max(1, (steps.size() + Report.CURVE_ROWS - 1) / Report.CURVE_ROWS);
        for (int from = 0; from < steps.size(); from += window) {
            List<List<JsonNode>> part = steps.subList(from, Math.min(steps.size(), from + window));
            List<JsonNode> own = part.stream().flatMap(List::stream).toList();
            String begin = step(part.getFirst().getFirst());
            String end = step(part.getLast().getFirst());
            List<Object> cells = new ArrayList<>(List.of(
                    begin.equals(end) ? begin : begin + "–" + end,
                    own.size(),
                    samples(own).size(),
                    samples(own).size() - rewarded(own).size()));
            for (boolean minimal : new boolean[] {true, false}) {
                List<JsonNode> states =
                        own.stream().filter(group -> minimal(group) == minimal).toList();
                List<Double> rewards = rewards(states);
                cells.add(rewards.size());
                cells.add(rewards.isEmpty() ? "–" : Report.number(Report.average(rewards)));
                cells.add(valid(states));
            }
            cells.add(tokens(own));
            Report.row(out, cells.toArray());
        }
    }

    private void byThirds() {
        Report.table(
                out, "Third", "Groups", "Edits", "Valid", "Invalid by code", "Like a demonstration", "Which", "Tokens");
        for (int third = 0; third < THIRDS.size(); third++) {
            List<JsonNode> own = third(groups, third);
            if (own.isEmpty()) {
                continue;
            }
            List<JsonNode> samples = samples(own);
            Map<String, Integer> codes = new TreeMap<>();
            Map<String, Integer> copies = new TreeMap<>();
            for (JsonNode sample : samples) {
                if (sample.path("outcome").asString("").equals("invalid")) {
                    codes.merge(sample.path("code").asString("?"), 1, Integer::sum);
                }
                String copied = demonstrations.get(sample.path("harness").asString(""));
                if (copied != null) {
                    copies.merge(copied, 1, Integer::sum);
                }
            }
            int copied = copies.values().stream().mapToInt(Integer::intValue).sum();
            Report.row(
                    out,
                    THIRDS.get(third),
                    own.size(),
                    samples.size(),
                    valid(own),
                    Report.counted(codes),
                    Report.percent((double) copied / samples.size()),
                    Report.counted(copies),
                    tokens(own));
        }
    }

    private void byFamilies() {
        List<JsonNode> minimal = groups.stream().filter(SampleTables::minimal).toList();
        List<JsonNode> early = third(minimal, 0);
        List<JsonNode> late = third(minimal, THIRDS.size() - 1);
        Report.table(out, "Family", "Groups, first third", "Reward", "Groups, last third", "Reward", "Difference");
        TreeSet<String> families = new TreeSet<>();
        Stream.concat(early.stream(), late.stream())
                .forEach(group -> families.add(group.path("family").asString("")));
        List<Double> before = new ArrayList<>();
        List<Double> after = new ArrayList<>();
        int groupsBefore = 0;
        int groupsAfter = 0;
        for (String family : families) {
            List<JsonNode> first = of(family, early);
            List<JsonNode> last = of(family, late);
            List<Double> one = rewards(first);
            List<Double> other = rewards(last);
            boolean both = !one.isEmpty() && !other.isEmpty();
            if (both) {
                before.add(Report.average(one));
                after.add(Report.average(other));
                groupsBefore += first.size();
                groupsAfter += last.size();
            }
            Report.row(
                    out,
                    family,
                    first.size(),
                    one.isEmpty() ? "–" : Report.number(Report.average(one)),
                    last.size(),
                    other.isEmpty() ? "–" : Report.number(Report.average(other)),
                    both ? Report.number(Report.average(other) - Report.average(one)) : "–");
        }
        if (!before.isEmpty()) {
            Report.row(
                    out,
                    "*all*",
                    groupsBefore,
                    Report.number(Report.average(before)),
                    groupsAfter,
                    Report.number(Report.average(after)),
                    Report.number(Report.average(after) - Report.average(before)));
        }
    }

    private static String step(JsonNode group) {
        return group.path("step").asString("");
    }

    private static boolean minimal(JsonNode group) {
        return group.path("harness").asString("").equals(MINIMAL);
    }

    private static List<JsonNode> of(String family, List<JsonNode> groups) {
        return groups.stream()
                .filter(group -> group.path("family").asString("").equals(family))
                .toList();
    }

    /** One of the thirds of a list, by position. */
    private static List<JsonNode> third(List<JsonNode> groups, int third) {
        int size = groups.size();
        return groups.subList(size * third / THIRDS.size(), size * (third + 1) / THIRDS.size());
    }

    private static List<JsonNode> samples(List<JsonNode> groups) {
        return groups.stream()
                .flatMap(group -> group.path("samples").valueStream())
                .toList();
    }

    private static List<JsonNode> rewarded(List<JsonNode> groups) {
        return samples(groups).stream()
                .filter(sample -> sample.path("reward").isNumber())
                .toList();
    }

    private static List<Double> rewards(List<JsonNode> groups) {
        return rewarded(groups).stream()
                .map(sample -> sample.path("reward").asDouble(0))
                .toList();
    }

    private static String valid(List<JsonNode> groups) {
        List<JsonNode> rewarded = rewarded(groups);
        long valid = rewarded.stream()
                .filter(sample -> sample.path("valid").asBoolean(false))
                .count();
        return rewarded.isEmpty() ? "–" : Report.percent((double) valid / rewarded.size());
    }

    private static String tokens(List<JsonNode> groups) {
        List<JsonNode> counted = samples(groups).stream()
                .filter(sample -> sample.path("tokens").isNumber())
                .toList();
        return counted.isEmpty()
                ? "–"
                : String.valueOf(Math.round(counted.stream()
                        .mapToInt(sample -> sample.path("tokens").asInt(0))
                        .average()
                        .orElse(0)));
    }
}
