package org.harnesslearning.proposer.edit;

/** Normal forms of one line. Blanks are spaces and tabs; nothing else is. */
final class Lines {
    private Lines() {}

    static boolean isBlank(String line) {
        return indent(line) == line.length();
    }

    /** Number of blanks at the start. */
    static int indent(String line) {
        return ReplyText.skipBlanks(line, 0, line.length());
    }

    /** The line without blanks at its end. */
    static String stripEnd(String line) {
        return line.substring(0, ReplyText.dropBlanks(line, 0, line.length()));
    }

    /** The line without blanks at either side. */
    static String strip(String line) {
        int from = indent(line);
        return line.substring(from, ReplyText.dropBlanks(line, from, line.length()));
    }

    /** The line with its indentation moved by {@code by} characters of {@code unit}; blank lines stay as they are. */
    static String shift(String line, int by, char unit) {
        if (by == 0 || isBlank(line)) {
            return line;
        }
        return by > 0 ? String.valueOf(unit).repeat(by) + line : line.substring(-by);
    }
}
