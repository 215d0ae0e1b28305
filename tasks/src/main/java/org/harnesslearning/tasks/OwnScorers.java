package org.harnesslearning.tasks;

import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import org.harnesslearning.contracts.task.Item;
import org.jspecify.annotations.Nullable;

/**
 * The scorers of own tasks. Each takes the maximum over the item's accepted answers.
 *
 * <ul>
 *   <li>{@code exact}: equal texts. Option {@code ignore_case}.
 *   <li>{@code numeric}: equal numbers, see {@link Numbers}; options {@code abs_tol} and {@code rel_tol} (relative to the
 *       accepted answer; either suffices), both 0 by default.
 *   <li>{@code em}: SQuAD exact match of normalised texts, see {@link Squad}.
 *   <li>{@code token_f1}: SQuAD token F1; option {@code strict_yes_no} adds HotpotQA's rule that yes, no and noanswer earn
 *       nothing unless equal.
 *   <li>{@code regex}: the whole answer matches the option {@code pattern}, or without it one of the accepted answers,
 *       read as patterns; option {@code ignore_case}. Syntax and linear running time are those of RE2, so there are no
 *       backreferences and no look-around, and no pattern can hang.
 *   <li>{@code json}: equal JSON values, see {@link JsonValues}.
 * </ul>
 */
final class OwnScorers {
    static final List<ScorerFactory> ALL = List.of(
            factory("exact", OwnScorers::exact),
            factory("numeric", OwnScorers::numeric),
            factory("em", OwnScorers::em),
            factory("token_f1", OwnScorers::tokenF1),
            factory("regex", OwnScorers::regex),
            factory("json", OwnScorers::json));

    private static final int MAX_PATTERN = 10_000;

    private OwnScorers() {}

    private static Scorer exact(Options options) {
        boolean ignoreCase = options.only("ignore_case").flag("ignore_case");
        return (item, answer) -> any(item, gold -> ignoreCase ? gold.equalsIgnoreCase(answer) : gold.equals(answer));
    }

    private static Scorer numeric(Options options) {
        options.only("abs_tol", "rel_tol");
        double absolute = options.tolerance("abs_tol");
        double relative = options.tolerance("rel_tol");
        return checked(
                (item, answer) -> any(item, gold -> Numbers.near(gold, answer, absolute, relative)),
                gold -> Numbers.parse(gold) == null ? "is not a number" : null);
    }

    private static Scorer em(Options options) {
        options.only();
        return (item, answer) -> {
            String normalised = Squad.normalise(answer);
            return any(item, gold -> Squad.normalise(gold).equals(normalised));
        };
    }

    private static Scorer tokenF1(Options options) {
        boolean strictYesNo = options.only("strict_yes_no").flag("strict_yes_no");
        return (item, answer) -> {
            String normalised = Squad.normalise(answer);
            double best = 0;
            for (String gold : item.answers()) {
                best = Math.max(best, Squad.f1(Squad.normalise(gold), normalised, strictYesNo));
            }
            return new Score(best);
        };
    }

    private static Scorer regex(Options options) {
        options.only("pattern", "ignore_case");
        int flags = Pattern.DOTALL | (options.flag("ignore_case") ? Pattern.CASE_INSENSITIVE : 0);
        String text = options.text("pattern");
        if (text != null) {
            String fault = patternFault(text, flags);
            if (fault != null) {
                throw new ScorerFactory.InvalidOptionException("pattern", "pattern " + fault);
            }
            Pattern pattern = Pattern.compile(text, flags);
            return (item, answer) -> Score.of(pattern.matches(answer));
        }
        return checked(
                (item, answer) -> any(
                        item,
                        gold -> patternFault(gold, flags) == null
                                && Pattern.compile(gold, flags).matches(answer)),
                gold -> patternFault(gold, flags));
    }

    private static @Nullable String patternFault(String pattern, int flags) {
        if (pattern.length() > MAX_PATTERN) {
            return "is longer than " + MAX_PATTERN + " characters";
        }
        try {
            Pattern.compile(pattern, flags);
            return null;
        } catch (PatternSyntaxException e) {
            return "is not a regular expression of RE2: " + Texts.clip(e.getDescription());
        } catch (StackOverflowError e) {
            return "is nested too deeply";
        }
    }

    private static Scorer json(Options options) {
        options.only();
        return checked(
                (item, answer) -> any(item, gold -> JsonValues.equal(gold, answer)),
                gold -> JsonValues.parse(gold) == null ? "is not JSON" : null);
    }

    private static Score any(Item item, Predicate<String> right) {
        return Score.of(item.answers().stream().anyMatch(right));
    }

    /** A scorer that can only use some accepted answers. */
    private static Scorer checked(Scorer scorer, Function<String, @Nullable String> goldFault) {
        return new Scorer() {
            @Override
            public Score score(Item item, String answer) {
                return scorer.score(item, answer);
            }

            @Override
            public @Nullable String fault(Item item) {
                for (String gold : item.answers()) {
                    String fault = goldFault.apply(gold);
                    if (fault != null) {
                        return "the answer \"" + Texts.clip(gold) + "\" " + fault;
                    }
                }
                return null;
            }
        };
    }

    private static ScorerFactory factory(String name, Function<Options, Scorer> make) {
        return new ScorerFactory() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public String version() {
                return "1";
            }

            @Override
            public Scorer create(Map<String, Object> options) {
                return make.apply(new Options(options));
            }
        };
    }
}
