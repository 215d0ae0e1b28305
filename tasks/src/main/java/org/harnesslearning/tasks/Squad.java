package org.harnesslearning.tasks;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** Normalisation and F1 as in the official SQuAD evaluation script (v2.0). */
final class Squad {
    private static final Pattern PUNCTUATION = Pattern.compile("[!-/:-@\\[-`{-~]");
    private static final Pattern ARTICLES = Pattern.compile("\\b(?:a|an|the)\\b", Pattern.UNICODE_CHARACTER_CLASS);
    // Python's str.split() also splits at the four separators of ASCII.
    private static final Pattern BLANKS = Pattern.compile("[\\s\\x1c-\\x1f]+", Pattern.UNICODE_CHARACTER_CLASS);
    private static final Set<String> CLOSED = Set.of("yes", "no", "noanswer");

    private Squad() {}

    /** Lower case, without ASCII punctuation, without the words a, an and the, blanks collapsed. */
    static String normalise(String text) {
        String lower = PUNCTUATION.matcher(text.toLowerCase(Locale.ROOT)).replaceAll("");
        return BLANKS.matcher(ARTICLES.matcher(lower).replaceAll(" "))
                .replaceAll(" ")
                .strip();
    }

    /**
     * F1 of the tokens of two normalised texts. Two texts without tokens are equal; one of them alone earns 0.
     *
     * @param strictYesNo HotpotQA's rule: 0 when either is yes, no or noanswer and they differ
     */
    static double f1(String gold, String answer, boolean strictYesNo) {
        if (strictYesNo && !gold.equals(answer) && (CLOSED.contains(gold) || CLOSED.contains(answer))) {
            return 0;
        }
        if (gold.isEmpty() || answer.isEmpty()) {
            return gold.equals(answer) ? 1 : 0;
        }
        List<String> expected = List.of(gold.split(" "));
        List<String> actual = List.of(answer.split(" "));
        Map<String, Integer> left = new HashMap<>();
        expected.forEach(token -> left.merge(token, 1, Integer::sum));
        int common = 0;
        for (String token : actual) {
            Integer count = left.get(token);
            if (count != null && count > 0) {
                left.put(token, count - 1);
                common++;
            }
        }
        // Equal to 2pr/(p+r), but exactly 1.0 for equal token sets.
        return 2.0 * common / (expected.size() + actual.size());
    }
}
