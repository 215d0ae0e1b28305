package org.harnesslearning.proposer.edit;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The reply form {@code whole_file}: the file stands in one fenced block and replaces the source.
 *
 * <p>A fence is a line of three or more backticks or tildes, perhaps with a tag; it is closed by an untagged line of at
 * least as many of the same character. A tagged fence inside an open one opens a nested one, so that a harness may hold a
 * prompt with fenced code. Of several complete blocks the last Python one is the file, or the last if none is tagged so.
 * Reasoning and text before the assistant tag are skipped as in {@link SearchReplace}. Line endings, byte order mark and
 * final newline follow the source.
 *
 * <p>Codes: {@link EditCode#TOO_LARGE}, {@link EditCode#TRUNCATED_REPLY}, {@link EditCode#UNCLOSED_BLOCK} (the last fence is
 * not closed), {@link EditCode#NO_BLOCK} (no complete block, or a blank one), {@link EditCode#NO_CHANGE}, {@link EditCode#OK}.
 */
public final class WholeFile {
    private static final Set<String> PYTHON = Set.of("python", "python3", "py");

    private WholeFile() {}

    /** Replaces a file by the one in a model's reply. Never throws, whatever the two strings hold. */
    public static EditResult apply(String source, String reply, FinishReason finish, EditOptions options) {
        return apply(source, reply, finish, options, new Work());
    }

    static EditResult apply(String source, String reply, FinishReason finish, EditOptions options, Work work) {
        String whole = options.replyPrefix().isEmpty() ? reply : options.replyPrefix() + reply;
        ParseResult.Unreadable refused = ReplyText.refuse(whole, finish, options, work);
        if (refused != null) {
            return EditResult.failed(refused.code(), source, null, refused.message());
        }
        Reader reader = new Reader(whole, work);
        reader.read();
        if (reader.fence != null) {
            return EditResult.failed(EditCode.UNCLOSED_BLOCK, source, null, "The reply ends inside a fenced block.");
        }
        List<String> file = reader.python != null ? reader.python : reader.any;
        if (file == null) {
            return EditResult.failed(EditCode.NO_BLOCK, source, null, "The reply holds no fenced block.");
        }
        if (file.stream().allMatch(Lines::isBlank)) {
            return EditResult.failed(EditCode.NO_BLOCK, source, null, "The fenced block of the reply is blank.");
        }
        LineList lines = new LineList(source, work);
        int before = lines.size();
        lines.replace(lines.next(LineList.RING), before, file);
        String result = lines.join();
        if (result.equals(source)) {
            return EditResult.failed(EditCode.NO_CHANGE, source, 1, "The file of the reply is the source.");
        }
        return new EditResult(
                EditCode.OK,
                Tier.EXACT,
                result,
                1,
                "The whole file was replaced.",
                List.of(new AppliedEdit(Tier.EXACT, 0, before, file.size())));
    }

    /** Writes a file in the form that {@link #apply} reads. */
    public static String render(String file) {
        int longest = 2;
        for (int at = 0, run = 0; at < file.length(); at++) {
            run = file.charAt(at) == '`' ? run + 1 : 0;
            longest = Math.max(longest, run);
        }
        String fence = "`".repeat(longest + 1);
        return fence + "python\n" + file + (file.endsWith("\n") ? "" : "\n") + fence + "\n";
    }

    /** A fence line: its character, how many, what stands before and behind them. */
    private record Fence(char character, int length, int indent, String tag) {}

    private static final class Reader {
        private final String reply;
        private final Work work;
        private final List<Fence> nested = new ArrayList<>();
        private List<String> body = new ArrayList<>();

        @Nullable
        Fence fence;

        @Nullable
        List<String> python;

        @Nullable
        List<String> any;

        Reader(String reply, Work work) {
            this.reply = reply;
            this.work = work;
        }

        void read() {
            int at = ReplyText.begin(reply, work);
            while (at < reply.length()) {
                int feed = reply.indexOf('\n', at);
                int stop = feed < 0 ? reply.length() : feed;
                int to = stop > at && reply.charAt(stop - 1) == '\r' ? stop - 1 : stop;
                work.add(stop - at + 1L);
                if (fence != null) {
                    inside(fence, at, to);
                } else {
                    int text = ReplyText.skipBlanks(reply, at, to);
                    if (reply.startsWith(ReplyText.THINK, text)) {
                        int close = reply.indexOf(ReplyText.END_THINK, text + ReplyText.THINK.length());
                        int behind = close < 0 ? reply.length() : close + ReplyText.END_THINK.length();
                        work.add(behind - at);
                        at = behind;
                        continue;
                    }
                    if (ReplyText.closesReasoning(reply, at, to)) {
                        python = null;
                        any = null;
                    }
                    fence = fence(at, to);
                    body = new ArrayList<>();
                }
                at = stop + 1;
            }
        }

        private void inside(Fence open, int from, int to) {
            Fence line = fence(from, to);
            if (line != null) {
                Fence innermost = nested.isEmpty() ? open : nested.getLast();
                boolean closes = line.tag().isEmpty()
                        && line.character() == innermost.character()
                        && line.length() >= innermost.length();
                if (closes && nested.isEmpty()) {
                    if (PYTHON.contains(open.tag())) {
                        python = body;
                    }
                    any = body;
                    fence = null;
                    return;
                }
                if (closes) {
                    nested.removeLast();
                } else if (!line.tag().isEmpty()
                        && line.length() >= open.length()
                        && line.character() == open.character()) {
                    nested.add(line);
                }
            }
            int content = from;
            while (content < to && content - from < open.indent() && Marker.isBlank(reply.charAt(content))) {
                content++;
            }
            body.add(reply.substring(content, to));
        }

        private @Nullable Fence fence(int from, int to) {
            int at = ReplyText.skipBlanks(reply, from, to);
            if (at == to || reply.charAt(at) != '`' && reply.charAt(at) != '~') {
                return null;
            }
            char character = reply.charAt(at);
            int end = at;
            while (end < to && reply.charAt(end) == character) {
                end++;
            }
            if (end - at < 3) {
                return null;
            }
            String tag = reply.substring(end, to).strip();
            if (character == '`' && tag.indexOf('`') >= 0) {
                return null;
            }
            return new Fence(character, end - at, at - from, tag.toLowerCase(Locale.ROOT));
        }
    }
}
