package org.harnesslearning.benchmarks;

import java.nio.charset.StandardCharsets;
import org.harnesslearning.proposer.edit.EditCode;
import org.harnesslearning.proposer.edit.EditOptions;
import org.harnesslearning.proposer.edit.EditResult;
import org.harnesslearning.proposer.edit.FinishReason;
import org.harnesslearning.proposer.edit.SearchReplace;

/**
 * Replies that are slow for regular expressions or for a search that tries every place.
 *
 * <p>Names are read by people in the benchmark's output.
 */
public enum HostileReply {
    /** An open block of blank lines alone. */
    BLANK_LINES(EditCode.UNCLOSED_BLOCK),
    /** Markers in every wrong order outside blocks, with reasoning tags between them. */
    MARKER_SOUP(EditCode.NO_BLOCK),
    /** One line that begins as a marker and goes on as blanks. */
    ONE_HUGE_LINE(EditCode.NO_BLOCK),
    /** As many blocks as fit, each editing another line of the file. */
    TINY_BLOCKS(EditCode.OK),
    /** As many blocks as fit, each found by a shift of indentation alone. */
    TINY_SHIFTED_BLOCKS(EditCode.OK),
    /** A file of one repeated line and a SEARCH of that line which ends in the file's only other one. */
    NEAR_MISS(EditCode.SEARCH_NOT_FOUND),
    /** The same with a shift of indentation. */
    SHIFTED_NEAR_MISS(EditCode.SEARCH_NOT_FOUND),
    /** Two long runs of combining marks in different order, compared at the Unicode tier. */
    COMBINING_MARKS(EditCode.SEARCH_NOT_FOUND);

    static final int MEGABYTE = 1 << 20;

    private final EditCode expected;

    HostileReply(EditCode expected) {
        this.expected = expected;
    }

    /** What the engine must answer. */
    public EditCode expected() {
        return expected;
    }

    /**
     * A file and a reply of about {@code bytes} UTF-8 bytes, never more.
     *
     * @param source the file, at most as large as the reply
     */
    public record Input(String source, String reply) {
        /** Applies the reply with the Unicode tier on, so that no tier is spared. */
        public EditResult apply() {
            return SearchReplace.apply(
                    source,
                    reply,
                    FinishReason.STOP,
                    EditOptions.DEFAULT.withUnicodeTier(true).withMaxReplyBytes(8 * MEGABYTE));
        }

        int replyBytes() {
            return reply.getBytes(StandardCharsets.UTF_8).length;
        }
    }

    /** Makes the input. */
    public Input make(int bytes) {
        return switch (this) {
            case BLANK_LINES -> new Input("a\n", "<<<<<<< SEARCH\n" + "\n".repeat(bytes - 15));
            case MARKER_SOUP ->
                new Input("a\n", "======\n>>>>>> REPLACE\n<think>\n</think>\n<<<<<<<<<< SEARCH\n".repeat(bytes / 57));
            case ONE_HUGE_LINE -> new Input("a\n", "<<<<<<< SEARCH" + " ".repeat(bytes - 15) + "x");
            case TINY_BLOCKS -> blocks(bytes, "");
            case TINY_SHIFTED_BLOCKS -> blocks(bytes, "  ");
            case NEAR_MISS ->
                new Input(
                        "y\n" + "x\n".repeat(bytes / 2 - 1),
                        "<<<<<<< SEARCH\n" + "x\n".repeat((bytes - 50) / 2) + "y\n=======\nz\n>>>>>>> REPLACE\n");
            case SHIFTED_NEAR_MISS ->
                new Input(
                        "  y\n" + "  x\n".repeat(bytes / 4 - 1),
                        "<<<<<<< SEARCH\n" + "x\n".repeat((bytes - 50) / 4) + "y\n=======\nz\n>>>>>>> REPLACE\n");
            case COMBINING_MARKS -> {
                int pairs = (bytes - 50) / 4;
                yield new Input(
                        "a" + "\u0301\u0327".repeat(pairs) + "\n",
                        "<<<<<<< SEARCH\na" + "\u0327\u0301".repeat(pairs) + "b\n=======\nz\n>>>>>>> REPLACE\n");
            }
        };
    }

    private static Input blocks(int bytes, String indentation) {
        StringBuilder source = new StringBuilder();
        StringBuilder reply = new StringBuilder();
        for (int i = 0; reply.length() + 60 < bytes; i++) {
            source.append(indentation).append(i).append('\n');
            reply.append("<<<<< SEARCH\n")
                    .append(i)
                    .append("\n=====\n")
                    .append(i)
                    .append(".\n>>>>> REPLACE\n");
        }
        return new Input(source.toString(), reply.toString());
    }
}
