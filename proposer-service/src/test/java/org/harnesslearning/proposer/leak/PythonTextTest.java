package org.harnesslearning.proposer.leak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.util.BitSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PythonTextTest {

    private static List<String> all(String source) {
        BitSet lines = new BitSet();
        lines.set(0, 1_000);
        return PythonText.of(source, lines);
    }

    private static List<String> lines(String source, int... numbers) {
        BitSet lines = new BitSet();
        for (int number : numbers) {
            lines.set(number);
        }
        return PythonText.of(source, lines);
    }

    @Test
    void literalsAndCommentsAreRead() {
        assertThat(all("x = 'one' # two\ny = \"it's\"\n")).containsExactlyInAnyOrder("one", "  two", "it's");
        assertThat(all("def f():\n    '''doc\n    string'''\n")).containsExactly("doc\n    string");
        assertThat(all("x = 1 + name\n")).isEmpty();
    }

    @Test
    void prefixesAreNoPartOfTheText() {
        assertThat(all("f(r'a\\n', b\"b\", Rb'c', u'd')")).containsExactly("a\\n", "b", "c", "d");
        assertThat(all("for'x'")).containsExactly("x");
    }

    @Test
    void escapesAreDecoded() {
        assertThat(all("'a\\x62\\u0063\\U00000064\\145\\'\\\\\\N{BULLET}z'")).containsExactly("abcde'\\ z");
        assertThat(all("'one \\\ntwo'")).containsExactly("one two");
        assertThat(all("'one\\ntwo'")).containsExactly("one two");
    }

    @Test
    void replacementFieldsAreGapsWithTextsOfTheirOwn() {
        assertThat(all("f'the {name:>{width}} of {{x}} {d[\"key\"]!r}'")).containsExactly("key", "the   of {x}  ");
        assertThat(all("f'''a {\n f(\"b\")\n} c'''\n'd'")).containsExactly("b", "a   cd");
    }

    @Test
    void literalsThatPythonJoinsAreOneText() {
        assertThat(all("x = ('one '\n     'two ' # why\n     + \"three\")\ny = 'four'"))
                .contains("one two three", "four");
        assertThat(all("f('a', 'b')")).containsExactly("a", "b");
    }

    @Test
    void commentsOnFollowingLinesAreOneText() {
        assertThat(all("# one\n# two\nx = 1\n# three\n").stream().map(String::strip))
                .containsExactly("one  two", "three");
    }

    @Test
    void onlyTheGivenLinesOfAMultiLineLiteralCount() {
        String source = "x = '''zero\none\ntwo\nthree'''\n";
        assertThat(lines(source, 1)).containsExactly("one\n");
        assertThat(lines(source, 1, 3)).containsExactly("one\n", "three");
        assertThat(lines(source, 7)).isEmpty();
    }

    @Test
    void quotesInCommentsAndHashesInLiteralsMeanNothing() {
        assertThat(all("# it's\nx = 'a # b'\n").stream().map(String::strip)).containsExactlyInAnyOrder("it's", "a # b");
    }

    @Test
    void anyInputIsReadToItsEnd() {
        List<String> soup = List.of(
                "'", "\"", "'''", "\"\"\"", "f'", "f\"\"\"", "rb'", "{", "}", "\\", "\n", "#", "x", " ", "\\N{", "\\x",
                "\\u12", "\\777", "\0", "\uD800", "+", "(");
        for (int seed = 0; seed < 4_000; seed++) {
            Random random = new Random(seed);
            StringBuilder source = new StringBuilder();
            for (int i = random.nextInt(60); i > 0; i--) {
                source.append(soup.get(random.nextInt(soup.size())));
            }
            assertThatCode(() -> all(source.toString())).as("seed %d", seed).doesNotThrowAnyException();
        }
        assertThatCode(() -> all("f'{f\"{".repeat(200_000))).doesNotThrowAnyException();
        assertThatCode(() -> all("f'''{f\"\"\"{".repeat(50_000))).doesNotThrowAnyException();
    }
}
