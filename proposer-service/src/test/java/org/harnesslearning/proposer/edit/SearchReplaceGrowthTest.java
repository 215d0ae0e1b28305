package org.harnesslearning.proposer.edit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.function.IntFunction;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Time grows linearly with hostile input: checked by counting steps, never by a clock. */
class SearchReplaceGrowthTest {

    record Input(String source, String reply, EditCode code) {
        int size() {
            return source.length() + reply.length();
        }
    }

    /** Inputs that are slow for backtracking or for a search that tries every place. */
    enum Hostile implements IntFunction<Input> {
        BLANK_LINES(n -> new Input("a\n", "<<<<<<< SEARCH\n" + "\n".repeat(n) + "=======\n", EditCode.UNCLOSED_BLOCK)),
        BLANKS_IN_ONE_LINE(n -> new Input("a\n", "<<<<<<< SEARCH" + " ".repeat(n) + "x", EditCode.NO_BLOCK)),
        MARKER_SOUP(n ->
                new Input("a\n", ("======\n>>>>>> REPLACE\n<think>\n</think>\n").repeat(n / 20), EditCode.NO_BLOCK)),
        OPENED_REASONING(n -> new Input("a\n", "<think>\n".repeat(n / 8), EditCode.NO_BLOCK)),
        HALF_TAGS(n -> new Input("a\n", "<think></thin".repeat(n / 13), EditCode.NO_BLOCK)),
        BACKSLASHES(n -> new Input("a\n", block("\\".repeat(n) + "\n", "b\n"), EditCode.SEARCH_NOT_FOUND)),
        NEAR_MISS_OF_EQUAL_LINES(n ->
                new Input("x\n".repeat(n), block("x\n".repeat(n / 2) + "y\n", "z\n"), EditCode.SEARCH_NOT_FOUND)),
        NEAR_MISS_OF_KNOWN_LINES(n -> new Input(
                "y\n" + "x\n".repeat(n), block("x\n".repeat(n / 2) + "y\n", "z\n"), EditCode.SEARCH_NOT_FOUND)),
        NEAR_MISS_IN_MANY_PERIODS(n -> new Input(
                ("x\n".repeat(63) + "y\n").repeat(n / 64),
                block("x\n".repeat(64) + "y\n", "z\n"),
                EditCode.SEARCH_NOT_FOUND)),
        SHIFTED_EQUAL_LINES(n -> new Input(
                "  x\n".repeat(n) + "   x\n".repeat(n),
                block("x\n".repeat(n / 2) + "  x\n".repeat(n / 2), "z\n"),
                EditCode.SEARCH_NOT_FOUND)),
        SHIFT_THAT_NO_PLACE_CAN_TAKE(n ->
                new Input("  x\n".repeat(n), block("    x\n".repeat(n / 2), "z\n"), EditCode.SEARCH_NOT_FOUND)),
        COMBINING_MARKS(n -> new Input(
                "a" + "\u0301\u0327".repeat(n) + "\n",
                block("a" + "\u0327\u0301".repeat(n) + "b\n", "z\n"),
                EditCode.SEARCH_NOT_FOUND)),
        ONE_BLOCK_FOR_EACH_LINE(n -> {
            StringBuilder source = new StringBuilder();
            StringBuilder reply = new StringBuilder();
            for (int i = 0; i < n / 10; i++) {
                source.append(i).append('\n');
                reply.append(block(i + "\n", i + ".\n"));
            }
            return new Input(source.toString(), reply.toString(), EditCode.OK);
        }),
        ONE_SHIFTED_BLOCK_FOR_EACH_LINE(n -> {
            StringBuilder source = new StringBuilder();
            StringBuilder reply = new StringBuilder();
            for (int i = 0; i < n / 10; i++) {
                source.append("  ").append(i).append(" \n");
                reply.append(block(i + "\n", i + ".\n"));
            }
            return new Input(source.toString(), reply.toString(), EditCode.OK);
        }),
        GROWING_AT_ONE_LINE(
                n -> new Input("a\n" + "x\n".repeat(n), block("a\n", "a\nb\n").repeat(n / 10), EditCode.OK));

        private final IntFunction<Input> make;

        Hostile(IntFunction<Input> make) {
            this.make = make;
        }

        @Override
        public Input apply(int size) {
            return make.apply(size);
        }

        private static String block(String search, String replace) {
            return "<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n";
        }
    }

    @ParameterizedTest
    @EnumSource
    void stepsGrowWithTheSizeOfTheInput(Hostile hostile) {
        long small = steps(hostile, 4_000);
        long large = steps(hostile, 32_000);
        // Eight times the input; a quadratic step anywhere would give 64 times the count, another way to search three
        // times.
        assertThat(large).isLessThanOrEqualTo(small * 16);
    }

    private static long steps(Hostile hostile, int size) {
        Input input = hostile.apply(size);
        Work work = new Work();
        EditOptions options = EditOptions.DEFAULT.withUnicodeTier(true).withMaxReplyBytes(1 << 24);
        EditResult result = SearchReplace.apply(input.source(), input.reply(), FinishReason.STOP, options, work);
        assertThat(result.code()).as(result.message()).isEqualTo(input.code());
        assertThat(work.steps()).isBetween((long) input.reply().length() / 2, 60L * input.size() + 1_000);
        WholeFile.apply(input.source(), input.reply(), FinishReason.STOP, options, work);
        return work.steps();
    }
}
