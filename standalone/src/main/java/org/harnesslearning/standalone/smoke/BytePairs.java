package org.harnesslearning.standalone.smoke;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A byte-level BPE vocabulary learned from a text (Sennrich et al. 2016, with the byte alphabet and the word pattern of
 * GPT-2): the commonest pair of neighbours becomes a token, again and again.
 */
final class BytePairs {
    private static final Pattern WORD = Pattern.compile(
            "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
            Pattern.UNICODE_CHARACTER_CLASS);
    private static final int BYTES = 256;

    private final List<String> tokens = new ArrayList<>();
    private final List<List<String>> merges = new ArrayList<>();

    private BytePairs() {}

    /**
     * Learns a vocabulary.
     *
     * @param most tokens beyond the bytes; fewer when no pair occurs twice
     */
    static BytePairs learn(String text, int most) {
        BytePairs pairs = new BytePairs();
        String[] alphabet = alphabet();
        pairs.tokens.addAll(List.of(alphabet));
        Map<List<String>, Integer> words = new LinkedHashMap<>();
        Matcher matcher = WORD.matcher(text);
        while (matcher.find()) {
            List<String> symbols = new ArrayList<>();
            for (byte b : matcher.group().getBytes(StandardCharsets.UTF_8)) {
                symbols.add(alphabet[b & 0xFF]);
            }
            words.merge(symbols, 1, Integer::sum);
        }
        while (pairs.merges.size() < most) {
            // Sorted, so that ties always fall to the same pair.
            Map<String, Integer> counts = new TreeMap<>();
            words.forEach((symbols, count) -> {
                for (int i = 0; i + 1 < symbols.size(); i++) {
                    counts.merge(symbols.get(i) + " " + symbols.get(i + 1), count, Integer::sum);
                }
            });
            String best = null;
            int bestCount = 1;
            for (Map.Entry<String, Integer> entry : counts.entrySet()) {
                if (entry.getValue() > bestCount) {
                    best = entry.getKey();
                    bestCount = entry.getValue();
                }
            }
            if (best == null) {
                break;
            }
            int space = best.indexOf(' ');
            List<String> pair = List.of(best.substring(0, space), best.substring(space + 1));
            pairs.merges.add(pair);
            String token = pair.getFirst() + pair.getLast();
            pairs.tokens.add(token);
            Map<List<String>, Integer> merged = new LinkedHashMap<>();
            words.forEach((symbols, count) -> merged.merge(merge(symbols, pair, token), count, Integer::sum));
            words = merged;
        }
        return pairs;
    }

    private static List<String> merge(List<String> symbols, List<String> pair, String token) {
        List<String> merged = new ArrayList<>(symbols.size());
        for (int i = 0; i < symbols.size(); i++) {
            if (i + 1 < symbols.size()
                    && symbols.get(i).equals(pair.getFirst())
                    && symbols.get(i + 1).equals(pair.getLast())) {
                merged.add(token);
                i++;
            } else {
                merged.add(symbols.get(i));
            }
        }
        return merged;
    }

    /** Each byte as a printable character: those that are, as they are; the others from U+0100 on. */
    private static String[] alphabet() {
        String[] alphabet = new String[BYTES];
        int next = BYTES;
        for (int b = 0; b < BYTES; b++) {
            boolean printable = b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE;
            alphabet[b] = String.valueOf((char) (printable ? b : next++));
        }
        return alphabet;
    }

    /** All tokens; the place is the id. */
    List<String> tokens() {
        return List.copyOf(tokens);
    }

    /** Pairs in the order in which they are merged. */
    List<List<String>> merges() {
        return List.copyOf(merges);
    }
}
