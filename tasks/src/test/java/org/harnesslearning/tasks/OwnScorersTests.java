package org.harnesslearning.tasks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.ScorerRef;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OwnScorersTests {
    private static final Scorers SCORERS = Scorers.own();

    private static double score(String name, Map<String, Object> options, String gold, String answer) {
        return scorer(name, options).score(Item.of("q", List.of(gold)), answer).value();
    }

    private static Scorer scorer(String name, Map<String, Object> options) {
        return SCORERS.forRef(SCORERS.ref(name, options));
    }

    @Test
    void exact_compares_every_character_unless_case_is_ignored() {
        assertThat(score("exact", Map.of(), "Paris", "Paris")).isOne();
        assertThat(score("exact", Map.of(), "Paris", "paris")).isZero();
        assertThat(score("exact", Map.of("ignore_case", true), "Paris", "pARIS"))
                .isOne();
        assertThat(score("exact", Map.of(), "Paris", "Paris.")).isZero();
        assertThat(score("exact", Map.of(), "", "")).isOne();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "42 | 42 | 1",
                "42 | 42.0 | 1",
                "42 | +42. | 1",
                "0.5 | .5 | 1",
                "0.5 | 1/2 | 1",
                "1/3 | 2/6 | 1",
                "1000 | 1,000 | 1",
                "1000 | 1e3 | 1",
                "1000 | 10,00 | 0",
                "-3 | −3 | 1",
                "123456789012345678901234567890 | 123456789012345678901234567891 | 0",
                "0.1 | 0.10000000000000001 | 0",
                "42 | 43 | 0",
                "42 | the answer is 42 | 0",
                "42 | NaN | 0",
                "42 | Infinity | 0",
                "42 | 1e999999999 | 0",
                "1 | 1/0 | 0",
                "1 | . | 0",
                "1 | - | 0",
                "1 | 0x1 | 0",
                "1 | 1_0 | 0",
                "1 | '' | 0",
            })
    void numeric_compares_decimal_values(String gold, String answer, double expected) {
        assertThat(score("numeric", Map.of(), gold, answer)).isEqualTo(expected);
    }

    @Test
    void numeric_tolerances_are_absolute_or_relative_to_the_accepted_answer() {
        assertThat(score("numeric", Map.of("abs_tol", 0.5), "10", "10.5")).isOne();
        assertThat(score("numeric", Map.of("abs_tol", 0.5), "10", "10.51")).isZero();
        assertThat(score("numeric", Map.of("rel_tol", 0.01), "-200", "-202")).isOne();
        assertThat(score("numeric", Map.of("rel_tol", 0.01), "-200", "-203")).isZero();
        assertThat(score("numeric", Map.of("abs_tol", 1, "rel_tol", 0.01), "2", "3"))
                .isOne();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "The Eiffel Tower | eiffel tower | 1",
                "the U.S. | us | 1",
                "a cat | cat. | 1",
                "theatre | atre | 0",
                "Zoë | zoë | 1",
                "well-known | wellknown | 1",
                "The | an | 1",
                "New   York | new york | 1",
            })
    void exact_match_normalises_as_squad_does(String gold, String answer, double expected) {
        assertThat(score("em", Map.of(), gold, answer)).isEqualTo(expected);
        assertThat(score("token_f1", Map.of(), gold, answer) == 1).isEqualTo(expected == 1);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "red green blue | red green | 0.8",
                "red red | red | 0.6666666666666666",
                "red | red red | 0.6666666666666666",
                "red | blue | 0",
                "the | red | 0",
                "red | the | 0",
                "yes | yes indeed | 0.6666666666666666",
            })
    void token_f1_counts_common_tokens(String gold, String answer, double expected) {
        assertThat(score("token_f1", Map.of(), gold, answer)).isEqualTo(expected);
    }

    @Test
    void hotpotqa_pays_nothing_for_a_part_of_yes_or_no() {
        assertThat(score("token_f1", Map.of("strict_yes_no", true), "yes", "yes indeed"))
                .isZero();
        assertThat(score("token_f1", Map.of("strict_yes_no", true), "yes", "Yes."))
                .isOne();
    }

    @Test
    void the_best_accepted_answer_counts() {
        Item item = Item.of("q", List.of("one two", "three"));
        assertThat(scorer("token_f1", Map.of()).score(item, "three").strict()).isTrue();
        assertThat(scorer("token_f1", Map.of()).score(item, "one").strict()).isFalse();
        assertThat(scorer("em", Map.of()).score(item, "One two!").strict()).isTrue();
    }

    @Test
    void regex_matches_the_whole_answer() {
        assertThat(score("regex", Map.of(), "[0-9]+", "123")).isOne();
        assertThat(score("regex", Map.of(), "[0-9]+", "n 123")).isZero();
        assertThat(score("regex", Map.of("pattern", "(?s)a.*b"), "unused", "a\nb"))
                .isOne();
        assertThat(score("regex", Map.of("ignore_case", true), "yes|no", "NO")).isOne();
        assertThat(score("regex", Map.of(), "(broken", "(broken")).isZero();
    }

    @Test
    void a_catastrophic_pattern_ends() {
        assertThat(score("regex", Map.of("pattern", "(a+)+$"), "", "a".repeat(50_000) + "b"))
                .isZero();
        assertThat(score("regex", Map.of(), "(x*)*y", "x".repeat(50_000))).isZero();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"a\": 1, \"b\": [1, 2]} | {\"b\":[1,2.0],\"a\":1} | 1",
                "[1, 2] | [2, 1] | 0",
                "1 | 1.0 | 1",
                "100 | 1e2 | 1",
                "1 | \"1\" | 0",
                "{\"a\": null} | {} | 0",
                "{\"a\": 1} | {\"a\": 1, \"a\": 1} | 0",
                "true | true | 1",
                "true | 1 | 0",
                "{\"a\": 1} | {\"a\": 1} x | 0",
                "0.1 | 0.10000000000000001 | 0",
                "1 | NaN | 0",
                "1e400 | 1e401 | 0",
                "null | null | 1",
            })
    void json_compares_values(String gold, String answer, double expected) {
        assertThat(score("json", Map.of(), gold, answer)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "[", "{\"a\":", "nul", "1e999999999999", "\"", "\u0000"})
    void junk_is_worth_nothing_and_never_an_exception(String answer) {
        for (String name : SCORERS.names()) {
            assertThat(score(name, Map.of(), "1", answer)).as(name).isZero();
        }
    }

    @Test
    void deep_and_long_json_is_refused_quietly() {
        assertThat(score("json", Map.of(), "[]", "[".repeat(100_000))).isZero();
        assertThat(score("json", Map.of(), "1", "9".repeat(100_000))).isZero();
        assertThat(score("json", Map.of(), "1e999999999", "10e999999998")).isOne();
    }

    @Test
    void options_are_checked_with_a_pointer() {
        assertThat(fault("numeric", Map.of("abs_tol", -1))).isEqualTo("/options/abs_tol");
        assertThat(fault("numeric", Map.of("abs_tol", Double.NaN))).isEqualTo("/options/abs_tol");
        assertThat(fault("numeric", Map.of("tolerance", 1))).isEqualTo("/options/tolerance");
        assertThat(fault("exact", Map.of("ignore_case", "yes"))).isEqualTo("/options/ignore_case");
        assertThat(fault("regex", Map.of("pattern", "("))).isEqualTo("/options/pattern");
        assertThat(fault("regex", Map.of("pattern", "(?=a)"))).isEqualTo("/options/pattern");
        assertThat(fault("em", Map.of("x/y", 1))).isEqualTo("/options/x~1y");
        assertThat(fault("rouge", Map.of())).isEqualTo("/name");
    }

    private static String fault(String name, Map<String, Object> options) {
        PlatformException e = catchThrowableOfType(PlatformException.class, () -> SCORERS.ref(name, options));
        assertThat(e.code()).isEqualTo(ErrorCode.INVALID_FIELD);
        return e.errors().getFirst().pointer();
    }

    @Test
    void items_that_a_scorer_cannot_use_are_named() {
        Item item = Item.of("q", List.of("many"));
        assertThat(scorer("numeric", Map.of()).fault(item)).contains("many").contains("not a number");
        assertThat(scorer("json", Map.of()).fault(item)).contains("not JSON");
        assertThat(scorer("regex", Map.of()).fault(Item.of("q", List.of("(")))).contains("RE2");
        assertThat(scorer("exact", Map.of()).fault(item)).isNull();
    }

    @Test
    void a_reference_to_another_version_is_refused() {
        assertThatThrownBy(() -> SCORERS.forRef(new ScorerRef("em", "0", Map.of())))
                .isInstanceOfSatisfying(
                        PlatformException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INTERNAL));
    }

    @Test
    void a_score_is_a_finite_number_from_0_to_1() {
        for (double value : new double[] {Double.NaN, -0.1, 1.1, Double.POSITIVE_INFINITY}) {
            assertThatThrownBy(() -> new Score(value)).isInstanceOf(IllegalArgumentException.class);
        }
        assertThat(new Score(0.9999999).strict()).isFalse();
    }
}
