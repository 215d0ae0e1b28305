package org.harnesslearning.proposer.leak;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.proposer.edit.UnifiedDiff;

/**
 * Finds text of a task's items in what an edit adds ({@code LEAK_SUSPECT}).
 *
 * <p>Compared are runs of five words, in lower case, of string literals and comments in added lines against the questions of
 * all splits. A run that stands in at least a quarter of the items (and in two at least) is the family's template. Expected
 * answers of at least four words or sixteen characters count as a whole. What a lint of words cannot see: items that are
 * paraphrased, coded, or spelt out as numbers in code.
 */
public final class LeakLint {
    private static final int GRAM = 5;
    private static final int ANSWER_WORDS = 4;
    private static final int ANSWER_CHARACTERS = 16;
    private static final Pattern WORD = Pattern.compile("[\\p{L}\\p{N}]+");
    private static final String MESSAGE =
            "The edit writes text of the task's items into the harness. A harness must not hold questions or answers.";

    private final Set<String> grams;
    private final Set<String> answers;

    private LeakLint(Set<String> grams, Set<String> answers) {
        this.grams = grams;
        this.answers = answers;
    }

    /**
     * Reads a task's items; make it once for a run.
     *
     * @param items the items of all splits together, so that nothing can be told of where a match came from
     */
    public static LeakLint of(Collection<Item> items) {
        Map<String, Integer> questions = new HashMap<>();
        Map<String, Integer> answers = new HashMap<>();
        for (Item item : items) {
            for (String gram : new HashSet<>(grams(item.question()))) {
                questions.merge(gram, 1, Integer::sum);
            }
            Set<String> accepted = new HashSet<>();
            for (String answer : item.answers()) {
                String plain = plain(answer);
                if (plain.length() >= ANSWER_CHARACTERS || words(answer).size() >= ANSWER_WORDS) {
                    accepted.add(plain);
                }
            }
            accepted.forEach(answer -> answers.merge(answer, 1, Integer::sum));
        }
        int template = Math.max(2, (items.size() + 3) / 4);
        questions.values().removeIf(count -> count >= template);
        answers.values().removeIf(count -> count >= template);
        return new LeakLint(Set.copyOf(questions.keySet()), Set.copyOf(answers.keySet()));
    }

    /**
     * Checks one edit.
     *
     * @param parent the harness before
     * @param child the harness after
     * @return a sentence for people that names no item, no split and no place; empty if the edit is clean
     */
    public Optional<String> check(String parent, String child) {
        BitSet added = UnifiedDiff.addedLines(parent, child);
        for (String text : PythonText.of(child, added)) {
            if (grams(text).stream().anyMatch(grams::contains) || holdsAnswer(text)) {
                return Optional.of(MESSAGE);
            }
        }
        return Optional.empty();
    }

    private boolean holdsAnswer(String text) {
        String plain = " " + plain(text) + " ";
        for (String answer : answers) {
            for (int at = plain.indexOf(answer); at >= 0; at = plain.indexOf(answer, at + 1)) {
                if (parted(plain.charAt(at - 1), answer.charAt(0))
                        && parted(answer.charAt(answer.length() - 1), plain.charAt(at + answer.length()))) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean parted(char left, char right) {
        return !Character.isLetterOrDigit(left) || !Character.isLetterOrDigit(right);
    }

    private static List<String> grams(String text) {
        List<String> words = words(text);
        List<String> grams = new ArrayList<>();
        for (int i = 0; i + GRAM <= words.size(); i++) {
            grams.add(String.join(" ", words.subList(i, i + GRAM)));
        }
        return grams;
    }

    private static List<String> words(String text) {
        List<String> words = new ArrayList<>();
        Matcher matcher = WORD.matcher(text.toLowerCase(Locale.ROOT));
        while (matcher.find()) {
            words.add(matcher.group());
        }
        return words;
    }

    /** Lower case, runs of blanks as one, none at the ends. */
    private static String plain(String text) {
        return text.strip().toLowerCase(Locale.ROOT).replaceAll("\\s+", " ");
    }
}
