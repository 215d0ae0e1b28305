package org.harnesslearning.llm.tokenizer;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Finds the texts of control tokens ({@code <|im_end|>} and so on), leftmost first and then the longest. */
final class ControlTokens {
    private final Map<String, Integer> ids;
    private final @Nullable Pattern pattern;

    ControlTokens(Map<String, Integer> ids) {
        this.ids = Map.copyOf(ids);
        List<String> texts = new ArrayList<>(ids.keySet());
        texts.removeIf(String::isEmpty);
        texts.sort(Comparator.comparingInt(String::length).reversed().thenComparing(Comparator.naturalOrder()));
        this.pattern = texts.isEmpty()
                ? null
                : Pattern.compile(texts.stream().map(Pattern::quote).collect(Collectors.joining("|")));
    }

    Map<String, Integer> ids() {
        return ids;
    }

    boolean appearIn(String text) {
        return pattern != null && pattern.matcher(text).find();
    }

    /** Puts {@code guard} behind the first character of every control token's text in {@code text}. */
    String guarded(String text, char guard) {
        if (pattern == null) {
            return text;
        }
        Matcher matcher = pattern.matcher(text);
        StringBuilder out = new StringBuilder(text.length() + 16);
        // Every start is broken, also of those that overlap, so that no shorter one remains.
        int from = 0;
        while (matcher.find(from)) {
            int cut = text.offsetByCodePoints(matcher.start(), 1);
            out.append(text, from, cut).append(guard);
            from = cut;
        }
        return out.append(text, from, text.length()).toString();
    }

    /** Walks through the text: plain stretches and control tokens in order. */
    void split(String text, java.util.function.Consumer<String> plain, IntConsumer control) {
        int from = 0;
        if (pattern != null) {
            Matcher matcher = pattern.matcher(text);
            while (matcher.find()) {
                if (matcher.start() > from) {
                    plain.accept(text.substring(from, matcher.start()));
                }
                control.accept(java.util.Objects.requireNonNull(ids.get(matcher.group())));
                from = matcher.end();
            }
        }
        if (from < text.length()) {
            plain.accept(text.substring(from));
        }
    }
}
