package org.harnesslearning.proposer.edit;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads blocks out of a reply, line by line, in one pass.
 *
 * <p>States and their lines (everything else is prose outside, content inside):
 *
 * <pre>
 * OUTSIDE  HEAD → SEARCH;  "&lt;think&gt;…" → skipped to behind the next "&lt;/think&gt;";  "…&lt;/think&gt;" → blocks so far are dropped
 * SEARCH   DIV → REPLACE;  TAIL → MISSING_DIVIDER;  HEAD → MALFORMED_MARKERS;  end → UNCLOSED_BLOCK
 * REPLACE  TAIL → OUTSIDE; HEAD, DIV → MALFORMED_MARKERS;  end → UNCLOSED_BLOCK
 * </pre>
 */
final class ReplyParser {
    private enum State {
        OUTSIDE,
        SEARCH,
        REPLACE
    }

    private final String reply;
    private final boolean named;
    private final Work work;
    private final List<EditBlock> blocks = new ArrayList<>();
    private State state = State.OUTSIDE;
    private List<String> search = new ArrayList<>();
    private List<String> replace = new ArrayList<>();
    private @Nullable String path;
    private int head;
    /** The line above the current one and the line above that, outside blocks. */
    private @Nullable String above;

    private @Nullable String aboveThat;

    /**
     * @param named whether the line above a block (or above its fence) is the name of a file
     */
    ReplyParser(String reply, boolean named, Work work) {
        this.reply = reply;
        this.named = named;
        this.work = work;
    }

    ParseResult parse() {
        int end = reply.length();
        int at = ReplyText.begin(reply, work);
        while (at < end) {
            int feed = reply.indexOf('\n', at);
            int stop = feed < 0 ? end : feed;
            int to = stop > at && reply.charAt(stop - 1) == '\r' ? stop - 1 : stop;
            work.add(stop - at + 1L);
            if (state == State.OUTSIDE) {
                int behind = outside(at, to);
                if (behind >= 0) {
                    at = behind;
                    continue;
                }
            } else {
                ParseResult.Unreadable failure = inside(at, to);
                if (failure != null) {
                    return failure;
                }
            }
            at = stop + 1;
        }
        if (state != State.OUTSIDE) {
            return unreadable(EditCode.UNCLOSED_BLOCK, head, "The reply ends inside the block that begins");
        }
        if (blocks.isEmpty()) {
            return new ParseResult.Unreadable(EditCode.NO_BLOCK, "The reply holds no SEARCH/REPLACE block.");
        }
        return new ParseResult.Parsed(blocks);
    }

    /** Reads a line outside blocks; returns where to go on if reasoning was skipped, otherwise -1. */
    private int outside(int from, int to) {
        Marker marker = Marker.of(reply, from, to);
        if (marker == Marker.HEAD) {
            state = State.SEARCH;
            head = from;
            search = new ArrayList<>();
            replace = new ArrayList<>();
            path = above != null && isFence(above) ? aboveThat : above;
            above = null;
            aboveThat = null;
            return -1;
        }
        int text = ReplyText.skipBlanks(reply, from, to);
        if (reply.startsWith(ReplyText.THINK, text)) {
            above = null;
            aboveThat = null;
            int close = reply.indexOf(ReplyText.END_THINK, text + ReplyText.THINK.length());
            int behind = close < 0 ? reply.length() : close + ReplyText.END_THINK.length();
            work.add(behind - from);
            return behind;
        }
        if (ReplyText.closesReasoning(reply, from, to)) {
            blocks.clear();
        }
        if (named) {
            aboveThat = above;
            above = reply.substring(from, to);
        }
        return -1;
    }

    private ParseResult.@Nullable Unreadable inside(int from, int to) {
        Marker marker = Marker.of(reply, from, to);
        if (marker == null) {
            int content = Marker.isEscaped(reply, from, to) ? from + 1 : from;
            List<String> body = state == State.SEARCH ? search : replace;
            body.add(Texts.shared(reply, content, to, body.isEmpty() ? null : body.getLast()));
            return null;
        }
        if (state == State.SEARCH) {
            switch (marker) {
                case HEAD -> {
                    return unreadable(
                            EditCode.MALFORMED_MARKERS, from, "A second SEARCH marker comes before the divider");
                }
                case DIV -> state = State.REPLACE;
                case TAIL -> {
                    return unreadable(EditCode.MISSING_DIVIDER, from, "The REPLACE marker comes before any divider");
                }
            }
            return null;
        }
        switch (marker) {
            case HEAD -> {
                return unreadable(EditCode.MALFORMED_MARKERS, from, "A SEARCH marker stands inside REPLACE");
            }
            case DIV -> {
                return unreadable(EditCode.MALFORMED_MARKERS, from, "A second divider stands inside REPLACE");
            }
            case TAIL -> {
                blocks.add(new EditBlock(search, replace, path));
                state = State.OUTSIDE;
            }
        }
        return null;
    }

    private ParseResult.Unreadable unreadable(EditCode code, int position, String what) {
        return new ParseResult.Unreadable(
                code,
                what + " at line " + ReplyText.lineNumber(reply, position) + " of the reply (block "
                        + (blocks.size() + 1) + ").");
    }

    /** A line of three or more backticks or tildes, perhaps with a tag. */
    static boolean isFence(String line) {
        int from = ReplyText.skipBlanks(line, 0, line.length());
        return line.startsWith("```", from) && line.indexOf('`', endOfRun(line, from)) < 0
                || line.startsWith("~~~", from);
    }

    static int endOfRun(String line, int from) {
        int at = from;
        while (at < line.length() && line.charAt(at) == line.charAt(from)) {
            at++;
        }
        return at;
    }
}
