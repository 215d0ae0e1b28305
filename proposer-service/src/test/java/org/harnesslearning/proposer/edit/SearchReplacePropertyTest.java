package org.harnesslearning.proposer.edit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Properties over seeded generators; a failure names its seed. */
class SearchReplacePropertyTest {
    private static final int CASES = 4_000;
    private static final int LONG_CASES = 400_000;

    private static final List<String> SOUP = List.of(
            "<<<<<<< SEARCH",
            "<<<<< SEARCH>",
            "<<<<<<<<<< SEARCH",
            "=======",
            "=====",
            "==========",
            ">>>>>>> REPLACE",
            ">>>>>>>>> REPLACE",
            "\\=======",
            "\\\\>>>>>>> REPLACE",
            "\\  <<<<<<< SEARCH",
            "<think>",
            "</think>",
            "<|im_start|>assistant",
            "```python",
            "```",
            "~~~~",
            "a = 1",
            "b",
            "",
            " ",
            "\t",
            "\r",
            "\uFEFF",
            "\uD800",
            "\uDC00\uD83D",
            "\u2028",
            "\u00A0",
            "e\u0301",
            "\f",
            "\\",
            "$1",
            "...");

    @Test
    void renderedBlocksAreParsedBackAsTheyWere() {
        for (int seed = 0; seed < CASES; seed++) {
            Random random = new Random(seed);
            List<EditBlock> blocks = new ArrayList<>();
            boolean named = random.nextBoolean();
            for (int i = random.nextInt(4); i >= 0; i--) {
                blocks.add(new EditBlock(anyLines(random), anyLines(random), named ? "f" + i + ".py" : null));
            }
            String text = SearchReplace.render(blocks);
            EditOptions options = named ? EditOptions.DEFAULT.withFiles(List.of("a", "b")) : EditOptions.DEFAULT;
            assertThat(SearchReplace.parse(text, FinishReason.STOP, options))
                    .as("seed %d", seed)
                    .isEqualTo(new ParseResult.Parsed(blocks));
            assertThat(SearchReplace.parse("Sure:\n```\n" + text + "```\n", FinishReason.STOP, EditOptions.DEFAULT))
                    .as("seed %d with prose", seed)
                    .isInstanceOfSatisfying(
                            ParseResult.Parsed.class,
                            parsed -> assertThat(parsed.blocks()).hasSameSizeAs(blocks));
        }
    }

    @Test
    void theEngineAgreesWithTheContractReadLiterally() {
        agreesWithTheContract(0, CASES * 3);
    }

    @Test
    @Tag("long")
    void theEngineAgreesWithTheContractReadLiterallyForLong() {
        agreesWithTheContract(1_000_000, LONG_CASES * 5);
    }

    private static void agreesWithTheContract(int firstSeed, int cases) {
        Map<EditCode, Integer> codes = new EnumMap<>(EditCode.class);
        Map<Tier, Integer> tiers = new EnumMap<>(Tier.class);
        for (int seed = firstSeed; seed < firstSeed + cases; seed++) {
            Random random = new Random(seed);
            List<String> file = fileLines(random);
            List<EditBlock> blocks = new ArrayList<>();
            for (int i = random.nextInt(2); i >= 0; i--) {
                blocks.add(new EditBlock(searchFor(file, random), fewLines(random, 3)));
            }
            EditOptions options =
                    EditOptions.DEFAULT.withUnicodeTier(random.nextBoolean()).withFirstMatch(random.nextInt(4) == 0);
            NaiveEngine.Answer expected = NaiveEngine.apply(file, blocks, options);
            String source = text(file);
            EditResult result = SearchReplace.apply(source, SearchReplace.render(blocks), FinishReason.STOP, options);
            assertThat(result.code()).as("seed %d", seed).isEqualTo(expected.code());
            assertThat(result.tier()).as("seed %d", seed).isEqualTo(expected.tier());
            assertThat(result.result()).as("seed %d", seed).isEqualTo(text(expected.lines()));
            codes.merge(result.code(), 1, Integer::sum);
            if (result.tier() != null) {
                tiers.merge(result.tier(), 1, Integer::sum);
            }
        }
        assertThat(codes.keySet())
                .contains(
                        EditCode.OK,
                        EditCode.AMBIGUOUS,
                        EditCode.SEARCH_NOT_FOUND,
                        EditCode.EMPTY_SEARCH,
                        EditCode.NO_CHANGE);
        assertThat(tiers.keySet()).containsExactlyInAnyOrder(Tier.values());
    }

    @Test
    void noInputMakesTheEngineThrow() {
        neverThrows(0, CASES);
    }

    @Test
    @Tag("long")
    void noInputMakesTheEngineThrowForLong() {
        neverThrows(1_000_000, LONG_CASES);
    }

    private static void neverThrows(int firstSeed, int cases) {
        for (int seed = firstSeed; seed < firstSeed + cases; seed++) {
            Random random = new Random(seed);
            String source = anyText(random);
            String reply = anyText(random);
            EditOptions options = EditOptions.DEFAULT
                    .withFirstMatch(random.nextBoolean())
                    .withUnicodeTier(random.nextBoolean())
                    .withMaxReplyBytes(random.nextInt(4) == 0 ? random.nextInt(200) : 1 << 20)
                    .withReplyPrefix(random.nextInt(4) == 0 ? anyText(random) : "")
                    .withFiles(random.nextInt(4) == 0 ? List.of("a = 1", "b") : List.of());
            FinishReason finish = random.nextInt(8) == 0 ? FinishReason.LENGTH : FinishReason.STOP;
            assertThatCode(() -> {
                        checkInvariants(source, SearchReplace.apply(source, reply, finish, options));
                        checkInvariants(source, WholeFile.apply(source, reply, finish, options));
                    })
                    .as("seed %d", seed)
                    .doesNotThrowAnyException();
        }
    }

    private static void checkInvariants(String source, EditResult result) {
        assertThat(result.message()).isNotBlank();
        if (result.code() == EditCode.OK) {
            assertThat(result.result()).isNotEqualTo(source);
            assertThat(result.edits()).hasSize(Objects.requireNonNull(result.blocks()));
        } else {
            assertThat(result.result()).isSameAs(source);
            assertThat(result.edits()).isEmpty();
            if (result.code().stage() == EditCode.Stage.APPLY) {
                assertThat(result.blocks()).isNotNull();
            }
        }
    }

    @Test
    void linesOutsideTheMatchKeepEveryByte() {
        int applied = 0;
        for (int seed = 0; seed < CASES; seed++) {
            Random random = new Random(seed);
            int size = 1 + random.nextInt(12);
            List<String> contents = new ArrayList<>();
            List<String> wholeLines = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                // The number makes every line unique.
                String content = i + " " + oneOf(SOUP, random).replace("\n", "");
                contents.add(content);
                wholeLines.add(content + (random.nextBoolean() ? "\r\n" : "\n"));
            }
            boolean ended = random.nextBoolean();
            if (!ended) {
                wholeLines.set(size - 1, contents.get(size - 1));
            }
            int from = random.nextInt(size);
            int to = from + 1 + random.nextInt(size - from);
            List<String> replace = new ArrayList<>(anyLines(random));
            replace.add("the end " + seed);
            String mark = random.nextBoolean() ? "\uFEFF" : "";
            String source = mark + String.join("", wholeLines);
            if (contents.stream().anyMatch(line -> line.endsWith("\r") || line.contains("<|im_start|>"))
                    || replace.stream().anyMatch(line -> line.contains("<|im_start|>"))) {
                continue;
            }
            EditBlock block = new EditBlock(contents.subList(from, to), replace);
            EditResult result = SearchReplace.apply(source, List.of(block), EditOptions.DEFAULT);
            assertThat(result.code()).as("seed %d", seed).isEqualTo(EditCode.OK);
            String before = mark + String.join("", wholeLines.subList(0, from));
            String after = String.join("", wholeLines.subList(to, size));
            assertThat(result.result()).as("seed %d", seed).startsWith(before).endsWith(after);
            assertThat(result.result().endsWith("\n")).as("seed %d", seed).isEqualTo(ended);
            applied++;
        }
        assertThat(applied).isGreaterThan(CASES / 2);
    }

    @Test
    void lineEndingsOfTheReplyMakeNoDifference() {
        for (int seed = 0; seed < CASES; seed++) {
            Random random = new Random(seed);
            List<String> file = fileLines(random);
            String source = text(file).replace("\n", random.nextBoolean() ? "\r\n" : "\n");
            String reply = "Text\n"
                    + SearchReplace.render(List.of(new EditBlock(searchFor(file, random), fewLines(random, 3))))
                    + text(fewLines(random, 2));
            EditOptions options = EditOptions.DEFAULT.withUnicodeTier(true);
            assertThat(SearchReplace.apply(source, reply.replace("\n", "\r\n"), FinishReason.STOP, options))
                    .as("seed %d", seed)
                    .isEqualTo(SearchReplace.apply(source, reply, FinishReason.STOP, options));
        }
    }

    private static String text(List<String> lines) {
        return lines.stream().map(line -> line + "\n").collect(Collectors.joining());
    }

    private static List<String> fileLines(Random random) {
        return fewLines(random, 8);
    }

    /** Lines of few words, so that equal and nearly equal ones are common. */
    private static List<String> fewLines(Random random, int most) {
        int count = random.nextInt(most + 1);
        List<String> lines = new ArrayList<>();
        int indent = random.nextInt(3);
        boolean tabs = random.nextInt(5) == 0;
        for (int i = 0; i < count; i++) {
            String word = oneOf(List.of("a", "b", "\"a\"", "“a”", "a\u00A0b", "a b", "", "\u200B"), random);
            String indentation = random.nextInt(12) == 0
                    ? " \t"
                    : (tabs ? "\t" : " ").repeat(random.nextInt(4) == 0 ? random.nextInt(4) : indent);
            lines.add(indentation + word + (random.nextInt(6) == 0 ? " " : ""));
        }
        return lines;
    }

    private static List<String> searchFor(List<String> file, Random random) {
        if (file.isEmpty() || random.nextInt(6) == 0) {
            return fewLines(random, 3);
        }
        int from = random.nextInt(file.size());
        int to = from + 1 + random.nextInt(Math.min(4, file.size() - from));
        List<String> search = new ArrayList<>(file.subList(from, to));
        if (random.nextBoolean()) {
            int shift = random.nextInt(5) - 2;
            search.replaceAll(line -> shift < 0
                    ? line.substring(Math.min(Lines.indent(line), -shift))
                    : (line.startsWith("\t") ? "\t" : " ").repeat(shift) + line);
        }
        if (random.nextInt(3) == 0) {
            search.replaceAll(Lines::stripEnd);
        }
        if (random.nextInt(3) == 0) {
            search.replaceAll(Folding::fold);
        }
        if (random.nextInt(6) == 0) {
            Collections.shuffle(search, random);
        }
        return search;
    }

    private static List<String> anyLines(Random random) {
        List<String> lines = new ArrayList<>();
        for (int i = random.nextInt(5); i > 0; i--) {
            StringBuilder line = new StringBuilder();
            for (int j = random.nextInt(3); j > 0; j--) {
                line.append(oneOf(SOUP, random));
            }
            String text = line.toString();
            lines.add(text.contains("<|im_start|>") ? "plain" : text);
        }
        return lines;
    }

    private static String anyText(Random random) {
        return switch (random.nextInt(4)) {
            case 0 -> {
                byte[] bytes = new byte[random.nextInt(300)];
                random.nextBytes(bytes);
                yield new String(bytes, random.nextBoolean() ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1);
            }
            case 1 -> {
                char[] chars = new char[random.nextInt(300)];
                for (int i = 0; i < chars.length; i++) {
                    chars[i] = (char) random.nextInt(0x10000);
                }
                yield new String(chars);
            }
            case 2 -> {
                String[] line = new String[1 + random.nextInt(4)];
                Arrays.setAll(line, i -> oneOf(SOUP, random).repeat(1 + random.nextInt(2_000)));
                yield String.join("\n", line);
            }
            default -> {
                StringBuilder soup = new StringBuilder();
                for (int i = random.nextInt(60); i > 0; i--) {
                    soup.append(oneOf(SOUP, random));
                    if (random.nextInt(8) != 0) {
                        soup.append(random.nextInt(6) == 0 ? "\r\n" : "\n");
                    }
                }
                yield soup.toString();
            }
        };
    }

    private static <T> T oneOf(List<T> values, Random random) {
        return values.get(random.nextInt(values.size()));
    }
}
