package org.harnesslearning.proposer.edit;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The reply form {@code search_replace}: blocks of whole lines to find and lines to write.
 *
 * <p>The contract (grammar, tiers, codes) is the conformance set's README. Blocks apply in sequence and all together or not
 * at all; replacement is literal; bytes outside the matched lines stay as they are. Reading takes time linear in the reply.
 * Applying takes time linear in file and reply, plus at most one pass over the file for each block whose lines all occur
 * many times.
 */
public final class SearchReplace {
    private SearchReplace() {}

    /**
     * Applies a model's reply to a file. Never throws, whatever the two strings hold.
     *
     * @param source the file before
     * @param reply the model's whole reply, without the prefix of the options
     * @param finish why the model stopped
     */
    public static EditResult apply(String source, String reply, FinishReason finish, EditOptions options) {
        return apply(source, reply, finish, options, new Work());
    }

    static EditResult apply(String source, String reply, FinishReason finish, EditOptions options, Work work) {
        return switch (parse(reply, finish, options, work)) {
            case ParseResult.Unreadable unreadable ->
                EditResult.failed(unreadable.code(), source, null, unreadable.message());
            case ParseResult.Parsed parsed -> apply(source, parsed.blocks(), options, work);
        };
    }

    /** Applies blocks that are already parsed. */
    public static EditResult apply(String source, List<EditBlock> blocks, EditOptions options) {
        return apply(source, blocks, options, new Work());
    }

    /** Reads a model's reply without applying it. Never throws, whatever the string holds. */
    public static ParseResult parse(String reply, FinishReason finish, EditOptions options) {
        return parse(reply, finish, options, new Work());
    }

    /**
     * Writes blocks in the form that {@link #parse} reads: parsing the text gives the same blocks again.
     *
     * @throws IllegalArgumentException where a line holds the assistant tag of a chat template, which no reply can quote
     */
    public static String render(List<EditBlock> blocks) {
        StringBuilder out = new StringBuilder();
        for (EditBlock block : blocks) {
            if (block.path() != null) {
                line(out, block.path());
            }
            out.append("<<<<<<< SEARCH\n");
            block.search().forEach(line -> bodyLine(out, line));
            out.append("=======\n");
            block.replace().forEach(line -> bodyLine(out, line));
            out.append(">>>>>>> REPLACE\n");
        }
        return out.toString();
    }

    private static void bodyLine(StringBuilder out, String line) {
        if (Marker.of(line, 0, line.length()) != null || Marker.isEscaped(line, 0, line.length())) {
            out.append('\\');
        }
        line(out, line);
    }

    private static void line(StringBuilder out, String line) {
        if (line.contains(ReplyText.ASSISTANT)) {
            throw new IllegalArgumentException("a block cannot hold the assistant tag of a chat template");
        }
        out.append(line);
        if (line.endsWith("\r")) {
            // One is dropped by the reader as half of a line ending.
            out.append('\r');
        }
        out.append('\n');
    }

    private static ParseResult parse(String reply, FinishReason finish, EditOptions options, Work work) {
        String whole = options.replyPrefix().isEmpty() ? reply : options.replyPrefix() + reply;
        ParseResult refused = ReplyText.refuse(whole, finish, options, work);
        return refused != null ? refused : new ReplyParser(whole, isNamed(options), work).parse();
    }

    private static boolean isNamed(EditOptions options) {
        return new LinkedHashSet<>(options.files()).size() > 1;
    }

    private static EditResult apply(String source, List<EditBlock> blocks, EditOptions options, Work work) {
        Set<String> files = isNamed(options) ? Set.copyOf(options.files()) : Set.of();
        Matcher matcher = new Matcher(new LineList(source, work), options, work);
        List<AppliedEdit> edits = new ArrayList<>();
        Tier loosest = Tier.EXACT;
        for (int i = 0; i < blocks.size(); i++) {
            EditBlock block = blocks.get(i);
            if (!files.isEmpty() && (block.path() == null || !files.contains(block.path()))) {
                return EditResult.failed(
                        EditCode.UNKNOWN_FILE,
                        source,
                        blocks.size(),
                        "The line above block " + (i + 1) + " is none of the " + files.size() + " files.");
            }
            switch (matcher.apply(block, i + 1)) {
                case Matcher.Failed(EditCode code, String message) -> {
                    return EditResult.failed(code, source, blocks.size(), message);
                }
                case Matcher.Applied(AppliedEdit edit) -> {
                    edits.add(edit);
                    loosest = loosest.loosest(edit.tier());
                }
            }
        }
        String result = matcher.result();
        if (result.equals(source)) {
            return EditResult.failed(
                    EditCode.NO_CHANGE,
                    source,
                    blocks.size(),
                    blocks.size() == 1
                            ? "The block changes nothing."
                            : "The " + blocks.size() + " blocks together change nothing.");
        }
        return new EditResult(
                EditCode.OK,
                loosest,
                result,
                blocks.size(),
                blocks.size() == 1 ? "One block applied." : blocks.size() + " blocks applied.",
                edits);
    }
}
