package org.harnesslearning.tasks;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.tasks.Family.Role;

/**
 * The 47 families of Reasoning Gym (arXiv 2505.24760) that the platform serves: 26 training families, five of them
 * withheld, and 21 unseen ones. The division is this project's own; the original work does not list its families.
 *
 * <p>Withheld from training for promotion decisions are kakurasu (games), circuit_logic (logic), family_relationships
 * (graphs), caesar_cipher (algorithmic) and simple_geometry (geometry): five categories, three scorers of the family's own
 * and two plain text comparisons, answers that are a grid, a bit, a word, a sentence and a number. The families that show
 * an adaptation best (chain_sum, bitwise_arithmetic, course_schedule, calendar_arithmetic) stay among those for training.
 */
public final class Families {
    private static final int MAX_SUGGESTIONS = 3;

    private static final List<Family> ALL = List.of(
            train("maze", "games"),
            train("sudoku", "games"),
            train("tower_of_hanoi", "games"),
            train("countdown", "games"),
            train("n_queens", "games"),
            withheld("kakurasu", "games"),
            train("knights_knaves", "logic"),
            train("syllogism", "logic"),
            withheld("circuit_logic", "logic"),
            train("shortest_path", "graphs"),
            train("course_schedule", "graphs"),
            withheld("family_relationships", "graphs"),
            train("base_conversion", "algorithmic"),
            withheld("caesar_cipher", "algorithmic"),
            train("spiral_matrix", "algorithmic"),
            train("word_ladder", "algorithmic"),
            train("binary_matrix", "algorithmic"),
            train("string_insertion", "algorithmic"),
            train("chain_sum", "arithmetic"),
            train("calendar_arithmetic", "arithmetic"),
            train("bitwise_arithmetic", "arithmetic"),
            train("simple_equations", "algebra"),
            train("number_sequence", "cognition"),
            withheld("simple_geometry", "geometry"),
            train("list_functions", "induction"),
            train("arc_1d", "arc"),
            unseen("futoshiki", "games"),
            unseen("survo", "games"),
            unseen("sokoban", "games"),
            unseen("knight_swap", "games"),
            unseen("zebra_puzzles", "logic"),
            unseen("self_reference", "logic"),
            unseen("aiw", "logic"),
            unseen("largest_island", "graphs"),
            unseen("quantum_lock", "graphs"),
            unseen("cryptarithm", "algorithmic"),
            unseen("jugs", "algorithmic"),
            unseen("palindrome_partitioning", "algorithmic"),
            unseen("ab", "algorithmic"),
            unseen("rotten_oranges", "algorithmic"),
            unseen("time_intervals", "arithmetic"),
            unseen("dice", "arithmetic"),
            unseen("complex_arithmetic", "algebra"),
            unseen("color_cube_rotation", "cognition"),
            unseen("needle_haystack", "cognition"),
            unseen("advanced_geometry", "geometry"),
            unseen("coin_flip", "probability"));

    private static final Map<String, Family> BY_NAME =
            ALL.stream().collect(Collectors.toUnmodifiableMap(Family::name, Function.identity()));

    private Families() {}

    /** All 47, training families first. */
    public static List<Family> all() {
        return ALL;
    }

    /** The families of one role: 21 to train on, 5 withheld, 21 unseen. */
    public static List<Family> of(Role role) {
        return ALL.stream().filter(family -> family.role() == role).toList();
    }

    /** A family by name, if there is such a one. */
    public static Optional<Family> find(String name) {
        return Optional.ofNullable(BY_NAME.get(name));
    }

    /**
     * A family by name.
     *
     * @throws PlatformException UNKNOWN_FAMILY at {@code /task/reasoning_gym/family}, naming the nearest ones
     */
    public static Family get(String name) {
        Family family = BY_NAME.get(name);
        if (family != null) {
            return family;
        }
        List<String> near = near(name);
        throw PlatformException.field(
                ErrorCode.UNKNOWN_FAMILY,
                "/task/reasoning_gym/family",
                "there is no family \"" + Texts.clip(name) + "\""
                        + (near.isEmpty()
                                ? "; GET /tasks lists all"
                                : "; did you mean " + String.join(", ", near) + "?"));
    }

    private static List<String> near(String name) {
        if (name.length() > 64) {
            return List.of();
        }
        String wanted = name.strip().toLowerCase(Locale.ROOT).replaceAll("[\\s-]+", "_");
        int allowed = Math.max(2, wanted.length() / 3);
        Map<String, Integer> distances = ALL.stream()
                .collect(Collectors.toMap(
                        Family::name,
                        family -> wanted.length() >= 3 && family.name().contains(wanted)
                                ? 0
                                : distance(wanted, family.name())));
        return distances.entrySet().stream()
                .filter(entry -> entry.getValue() <= allowed)
                .sorted(Map.Entry.<String, Integer>comparingByValue().thenComparing(Map.Entry.comparingByKey()))
                .limit(MAX_SUGGESTIONS)
                .map(Map.Entry::getKey)
                .toList();
    }

    /** Levenshtein's distance. */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        Arrays.setAll(row, i -> i);
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int substituted = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(substituted, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }

    private static Family train(String name, String category) {
        return new Family(name, category, Role.TRAIN);
    }

    private static Family withheld(String name, String category) {
        return new Family(name, category, Role.WITHHELD);
    }

    private static Family unseen(String name, String category) {
        return new Family(name, category, Role.UNSEEN);
    }
}
