package org.harnesslearning.proposer.report;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.gate.Flip;
import org.harnesslearning.store.run.MeasuredQuestion;
import org.jspecify.annotations.Nullable;

/**
 * Questions of one split that belong together: those of an own task's {@code metadata.group}, else the whole split.
 *
 * @param group null for the questions without one
 * @param n questions of the group that were measured
 * @param before mean of the starting harness or baseline; null where it was not measured
 * @param after mean of the result; null where it was not measured
 * @param flips its questions that went from right to wrong
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record QuestionGroup(
        Split split,
        @Nullable String group,
        int n,
        @Nullable Double before,
        @Nullable Double after,
        List<Flip> flips) {
    QuestionGroup {
        flips = List.copyOf(flips);
    }

    /** Name for a person, such as {@code held_out/billing}. */
    String title() {
        return group == null ? split.json() : split.json() + "/" + group;
    }

    /** How many of its regression set went from right to wrong. */
    long regressions() {
        return flips.stream().filter(Flip::regression).count();
    }

    /** The groups of a split, in item order. */
    static List<QuestionGroup> of(
            Split split,
            List<Item> items,
            List<MeasuredQuestion> before,
            List<MeasuredQuestion> after,
            List<Flip> flips) {
        Map<String, List<String>> hashes = new LinkedHashMap<>();
        for (Item item : items) {
            String group = item.mark() == null || item.mark().group() == null
                    ? ""
                    : item.mark().group();
            hashes.computeIfAbsent(group, absent -> new ArrayList<>()).add(item.hash());
        }
        Map<String, MeasuredQuestion> first = byHash(before);
        Map<String, MeasuredQuestion> second = byHash(after);
        List<QuestionGroup> groups = new ArrayList<>();
        hashes.forEach((group, members) -> {
            int measured = (int) members.stream()
                    .filter(hash -> first.containsKey(hash) || second.containsKey(hash))
                    .count();
            if (measured > 0) {
                groups.add(new QuestionGroup(
                        split,
                        group.isEmpty() ? null : group,
                        measured,
                        mean(members, first),
                        mean(members, second),
                        flips.stream()
                                .filter(flip -> flip.split() == split && members.contains(flip.item()))
                                .toList()));
            }
        });
        return groups;
    }

    private static Map<String, MeasuredQuestion> byHash(List<MeasuredQuestion> results) {
        Map<String, MeasuredQuestion> byHash = new HashMap<>();
        results.forEach(result -> byHash.put(result.itemHash(), result));
        return byHash;
    }

    private static @Nullable Double mean(List<String> members, Map<String, MeasuredQuestion> results) {
        List<Double> scores = members.stream()
                .map(results::get)
                .filter(Objects::nonNull)
                .map(MeasuredQuestion::score)
                .toList();
        return scores.isEmpty()
                ? null
                : Double.valueOf(
                        scores.stream().mapToDouble(Double::doubleValue).sum() / scores.size());
    }
}
