package org.harnesslearning.proposer.edit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.junit.jupiter.api.Test;

class SearchReplaceTest {
    private static final String BLOCK = "<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n";

    private static EditResult apply(String source, String reply) {
        return SearchReplace.apply(source, reply, FinishReason.STOP, EditOptions.DEFAULT);
    }

    private static EditResult unicode(String source, String reply) {
        return SearchReplace.apply(source, reply, FinishReason.STOP, EditOptions.DEFAULT.withUnicodeTier(true));
    }

    private static String block(String search, String replace) {
        return "<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n";
    }

    @Test
    void thePrefixGivenToTheModelIsPartOfItsReply() {
        EditOptions options = EditOptions.DEFAULT.withReplyPrefix("<<<<<<< SEARCH\n");
        EditResult result =
                SearchReplace.apply("a = 1\n", "a = 1\n=======\na = 2\n>>>>>>> REPLACE", FinishReason.STOP, options);
        assertThat(result.code()).isEqualTo(EditCode.OK);
        assertThat(result.result()).isEqualTo("a = 2\n");
    }

    @Test
    void whatStandsRightBehindReasoningIsALineOfItsOwn() {
        EditResult result =
                apply("a = 1\n", "<think>" + BLOCK + "</think><<<<<<< SEARCH\na = 1\n=======\na = 3\n>>>>>>> REPLACE");
        assertThat(result.result()).isEqualTo("a = 3\n");
        assertThat(result.blocks()).isOne();
    }

    @Test
    void reasoningMayOpenAgainBehindReasoning() {
        assertThat(apply("a = 1\n", "<think>x</think> <think>" + BLOCK + "</think>\n")
                        .code())
                .isEqualTo(EditCode.NO_BLOCK);
    }

    @Test
    void aMalformedBlockBeforeTheEndOfReasoningStillRefusesTheReply() {
        assertThat(apply("a = 1\n", "<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n</think>\n" + BLOCK)
                        .code())
                .isEqualTo(EditCode.MISSING_DIVIDER);
    }

    @Test
    void aLoneCarriageReturnAtTheEndOfTheFileIsContent() {
        assertThat(apply("a = 1\r", BLOCK).code()).isEqualTo(EditCode.SEARCH_NOT_FOUND);
        assertThat(apply("a = 1\r", block("a = 1\r\r\n", "a = 2\n")).result()).isEqualTo("a = 2");
    }

    @Test
    void linesReplacedByThemselvesTakeTheDominantEnding() {
        EditResult result = apply("a = 1\r\nb\r\nc\n", block("c\n", "c\n"));
        assertThat(result.code()).isEqualTo(EditCode.OK);
        assertThat(result.result()).isEqualTo("a = 1\r\nb\r\nc\r\n");
    }

    @Test
    void aFileEmptiedByOneBlockCanBeWrittenByTheNext() {
        String reply = block("a = 1\n", "") + block("", "b = 1\nc = 2\n");
        assertThat(apply("a = 1\n", reply).result()).isEqualTo("b = 1\nc = 2\n");
        assertThat(apply("a = 1", reply).result()).isEqualTo("b = 1\nc = 2");
    }

    @Test
    void theFirstOfTwoShiftedPlacesIsTakenWhenAsked() {
        String source = "if a:\n        x()\n        y()\n    x()\n    y()\n";
        EditResult result = SearchReplace.apply(
                source, block("x()\ny()\n", "z()\n"), FinishReason.STOP, EditOptions.DEFAULT.withFirstMatch(true));
        assertThat(result.result()).isEqualTo("if a:\n        z()\n    x()\n    y()\n");
        assertThat(result.edits()).containsExactly(new AppliedEdit(Tier.INDENT, 8, 2, 1));
    }

    @Test
    void aPlaceThatReplaceCannotFollowIsNoHit() {
        // The first place would need two characters less than REPLACE has; the second fits.
        String source = "x\n  y\n---\n   x\n     y\n";
        EditResult result = apply(source, block("  x\n    y\n", " z\n"));
        assertThat(result.code()).isEqualTo(EditCode.OK);
        assertThat(result.result()).isEqualTo("x\n  y\n---\n  z\n");
    }

    @Test
    void linesOfMixedIndentationAreNotShifted() {
        assertThat(apply(" \tx\n", block("x\n", "y\n")).code()).isEqualTo(EditCode.SEARCH_NOT_FOUND);
        assertThat(apply("  a\n\tb\n", block(" a\nb\n", "c\n")).code()).isEqualTo(EditCode.SEARCH_NOT_FOUND);
    }

    @Test
    void blankLinesInsideAShiftedRunMayDifferInBlanks() {
        EditResult result = apply("  a\n \t\n  b\n", block("a\n\nb\n", "c\n  \nd\n"));
        assertThat(result.result()).isEqualTo("  c\n  \n  d\n");
    }

    @Test
    void unicodeToleratesWhatTheEarlierTiersDo() {
        assertThat(unicode("\tsay(“hi”)  \n  x\n", block("\tsay(\"hi\")\n  x\n", "y\n"))
                        .tier())
                .as("same mixed indentation, trailing blanks")
                .isEqualTo(Tier.UNICODE);
        EditResult moved = unicode("    say(“hi”)\n", block("say(\"hi\")\n", "say('“')\n"));
        assertThat(moved.tier()).isEqualTo(Tier.UNICODE);
        assertThat(moved.result()).isEqualTo("    say('“')\n");
    }

    @Test
    void unicodeCountsPlacesWithAndWithoutShiftTogether() {
        assertThat(unicode("“a”\n  “a”\n", block("\"a\"\n", "b\n")).code()).isEqualTo(EditCode.AMBIGUOUS);
        EditResult first = SearchReplace.apply(
                "  “a”\n“a”\n",
                block("\"a\"\n", "b\n"),
                FinishReason.STOP,
                EditOptions.DEFAULT.withUnicodeTier(true).withFirstMatch(true));
        assertThat(first.result()).isEqualTo("  b\n“a”\n");
    }

    @Test
    void aShiftThatMultipliesTheFileIsRefused() {
        String source = " ".repeat(100_000) + "x\n";
        EditResult result = apply(source, block("x\n", "y\n".repeat(1000)));
        assertThat(result.code()).isEqualTo(EditCode.TOO_LARGE);
        assertThat(result.result()).isEqualTo(source);
    }

    @Test
    void eachBlockOfSeveralFilesNeedsAName() {
        EditOptions options = EditOptions.DEFAULT.withFiles(List.of("a.py", "b.py"));
        String second = block("b = 1\n", "b = 2\n");
        String source = "a = 1\nb = 1\n";
        assertThat(SearchReplace.apply(source, "a.py\n" + BLOCK + second, FinishReason.STOP, options)
                        .code())
                .isEqualTo(EditCode.UNKNOWN_FILE);
        assertThat(SearchReplace.apply(source, "a.py\n" + BLOCK + "b.py\n~~~\n" + second, FinishReason.STOP, options)
                        .result())
                .isEqualTo("a = 2\nb = 2\n");
        assertThat(SearchReplace.apply(
                                source,
                                "other.py\n" + BLOCK,
                                FinishReason.STOP,
                                EditOptions.DEFAULT.withFiles(List.of("a.py", "a.py")))
                        .code())
                .isEqualTo(EditCode.OK);
    }

    @Test
    void messagesNameBlocksAndLinesAndQuoteNothing() {
        String source = "import re\n\ndef secret_name(x):\n    y = x + 1\n    return y\n";
        EditResult absent = apply(
                source,
                block("import re\n", "import os\n")
                        + block("def secret_name(x):\n    y = x + 2\n    return y\n", "z\n"));
        assertThat(absent.message())
                .isEqualTo(
                        "SEARCH of block 2 (3 lines) is not in the file; nearest are lines 3 to 5, where 2 of 3 lines"
                                + " agree; line 2 of SEARCH is nowhere in the file.");
        assertThat(apply(source, block("nothing\n", "z\n")).message())
                .isEqualTo("SEARCH of block 1 (1 line) is not in the file; none of its lines is.");
        assertThat(apply("a\nb\na\n", block("a\n", "c\n")).message())
                .contains("block 1 (1 line)")
                .contains("lines 1 and 3");
        assertThat(apply(source, "Sure.\n" + BLOCK + "<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n")
                        .message())
                .isEqualTo("The REPLACE marker comes before any divider at line 9 of the reply (block 2).");
    }

    @Test
    void theAssistantTagCannotBeRendered() {
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        SearchReplace.render(List.of(new EditBlock(List.of("x"), List.of("'<|im_start|>assistant'")))));
    }

    @Test
    void everyCodeButOkIsAnOutcomeCodeOfTheSameStage() {
        for (EditCode code : EditCode.values()) {
            if (code != EditCode.OK) {
                assertThat(OutcomeCode.valueOf(code.name()).stage().name())
                        .isEqualTo(code.stage().name());
            }
        }
    }

    @Test
    void onlyAFinishReasonOfLengthMeansACutReply() {
        assertThat(FinishReason.of("length")).isEqualTo(FinishReason.LENGTH);
        assertThat(FinishReason.of("stop")).isEqualTo(FinishReason.STOP);
        assertThat(FinishReason.of(null)).isEqualTo(FinishReason.STOP);
    }
}
