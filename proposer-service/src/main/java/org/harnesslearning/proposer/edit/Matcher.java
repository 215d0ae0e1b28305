package org.harnesslearning.proposer.edit;

import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.proposer.edit.LineIndex.Hits;
import org.jspecify.annotations.Nullable;

/** Finds the place of one block after the other in a file and writes there. Indexes of a tier are made when first needed. */
final class Matcher {
    sealed interface Outcome {}

    record Applied(AppliedEdit edit) implements Outcome {}

    record Failed(EditCode code, String message) implements Outcome {}

    private final LineList lines;
    private final EditOptions options;
    private final Work work;
    private final LineIndex exact;
    private @Nullable LineIndex trailing;
    private @Nullable ShiftIndex shifted;
    private @Nullable LineIndex folded;
    private @Nullable ShiftIndex foldedShifted;

    Matcher(LineList lines, EditOptions options, Work work) {
        this.lines = lines;
        this.options = options;
        this.work = work;
        this.exact = lines.register(new LineIndex(lines, null, work));
    }

    Outcome apply(EditBlock block, int number) {
        if (block.search().stream().allMatch(Lines::isBlank)) {
            if (lines.size() > 0) {
                return new Failed(
                        EditCode.EMPTY_SEARCH, "SEARCH of block " + number + " is blank, and the file is not empty.");
            }
            return write(LineList.RING, 0, block, Tier.EXACT, 0, number);
        }
        int[] search = lines.texts().numbers(block.search(), block.search().size());
        for (Tier tier : Tier.values()) {
            if (tier == Tier.UNICODE && !options.unicodeTier()) {
                break;
            }
            Hits hits = find(tier, search, block.replace());
            if (hits.count() > 1 && !options.firstMatch()) {
                return new Failed(EditCode.AMBIGUOUS, ambiguous(block, number, hits));
            }
            if (hits.count() > 0) {
                return write(hits.first(), block.search().size(), block, tier, hits.firstShift(), number);
            }
        }
        return new Failed(EditCode.SEARCH_NOT_FOUND, Nearest.describe(lines, shifted(), search, number, work));
    }

    String result() {
        return lines.join();
    }

    private Hits find(Tier tier, int[] search, List<String> replace) {
        boolean firstOnly = options.firstMatch();
        return switch (tier) {
            case EXACT -> exact.find(search, firstOnly);
            case TRAILING_WS -> {
                if (trailing == null) {
                    trailing = lines.register(new LineIndex(
                            lines, text -> Lines.stripEnd(lines.texts().text(text)), work));
                }
                yield trailing.find(search, firstOnly);
            }
            case INDENT -> {
                // A shift of zero is what the tier before has tried.
                yield shifted().find(search, replace, firstOnly);
            }
            case UNICODE -> {
                if (folded == null) {
                    folded = lines.register(new LineIndex(
                            lines, text -> Lines.stripEnd(lines.texts().folded(text)), work));
                }
                if (foldedShifted == null) {
                    foldedShifted = lines.register(new ShiftIndex(lines, lines.texts()::folded, work));
                }
                yield either(folded.find(search, firstOnly), foldedShifted.find(search, replace, firstOnly));
            }
        };
    }

    private ShiftIndex shifted() {
        if (shifted == null) {
            shifted = lines.register(new ShiftIndex(lines, lines.texts()::text, work));
        }
        return shifted;
    }

    private Hits either(Hits still, Hits moved) {
        if (still.count() == 0 || moved.count() == 0) {
            return still.count() == 0 ? moved : still;
        }
        return lines.isBefore(still.first(), moved.first()) ? still.and(moved.first(), 0) : moved.and(still.first(), 0);
    }

    private Outcome write(int first, int count, EditBlock block, Tier tier, int shift, int number) {
        List<String> replace = block.replace();
        long chars = lines.chars();
        for (String line : replace) {
            chars += line.length() + (shift > 0 ? shift : 0) + 2L;
        }
        if (chars > options.maxResultChars() && !replace.isEmpty()) {
            return new Failed(
                    EditCode.TOO_LARGE,
                    "Block " + number + " makes the file larger than " + options.maxResultChars() + " characters.");
        }
        if (shift != 0) {
            char unit = unit(first, count, tier);
            List<String> moved = new ArrayList<>(replace.size());
            for (String line : replace) {
                moved.add(Lines.shift(line, shift, unit));
            }
            replace = moved;
        }
        lines.replace(first, count, replace);
        return new Applied(new AppliedEdit(tier, shift, count, replace.size()));
    }

    /** The indentation character of the matched lines; with a positive shift one of them has some. */
    private char unit(int first, int count, Tier tier) {
        int node = first;
        for (int i = 0; i < count; i++) {
            String text = lines.text(node);
            String line = tier == Tier.UNICODE ? Folding.fold(text) : text;
            if (!Lines.isBlank(line) && Lines.indent(line) > 0) {
                return line.charAt(0);
            }
            node = lines.next(node);
        }
        return ' ';
    }

    private String ambiguous(EditBlock block, int number, Hits hits) {
        int other = hits.second() == null ? hits.first() : hits.second();
        List<Integer> numbers = lines.lineNumbers(hits.first(), other);
        int one = Math.min(numbers.get(0), numbers.get(1));
        int two = Math.max(numbers.get(0), numbers.get(1));
        return "SEARCH of block " + number + " (" + Nearest.lines(block.search().size())
                + ") fits more than one place, among them lines " + one + " and " + two
                + ". More lines of context would tell them apart.";
    }
}
