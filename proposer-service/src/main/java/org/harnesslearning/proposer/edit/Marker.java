package org.harnesslearning.proposer.edit;

import org.jspecify.annotations.Nullable;

/** The three marker lines of a block. A marker fills its line; blanks may stand before and after it. */
enum Marker {
    HEAD,
    DIV,
    TAIL;

    private static final int SHORTEST = 5;
    private static final int LONGEST = 9;

    static boolean isBlank(char c) {
        return c == ' ' || c == '\t';
    }

    /** The marker that fills {@code text[from, to)}, or null. */
    static @Nullable Marker of(String text, int from, int to) {
        int at = from;
        while (at < to && isBlank(text.charAt(at))) {
            at++;
        }
        if (at == to) {
            return null;
        }
        char first = text.charAt(at);
        if (first != '<' && first != '=' && first != '>') {
            return null;
        }
        int run = at;
        while (run < to && text.charAt(run) == first) {
            run++;
        }
        if (run - at < SHORTEST || run - at > LONGEST) {
            return null;
        }
        return switch (first) {
            case '<' -> {
                int end = word(text, run, to, " SEARCH");
                if (end >= 0 && end < to && text.charAt(end) == '>') {
                    end++;
                }
                yield end >= 0 && onlyBlanks(text, end, to) ? HEAD : null;
            }
            case '=' -> onlyBlanks(text, run, to) ? DIV : null;
            default -> {
                int end = word(text, run, to, " REPLACE");
                yield end >= 0 && onlyBlanks(text, end, to) ? TAIL : null;
            }
        };
    }

    /** Whether {@code text[from, to)} is one or more backslashes and then a marker line. */
    static boolean isEscaped(String text, int from, int to) {
        int at = from;
        while (at < to && text.charAt(at) == '\\') {
            at++;
        }
        return at > from && of(text, at, to) != null;
    }

    private static int word(String text, int at, int to, String word) {
        return at + word.length() <= to && text.startsWith(word, at) ? at + word.length() : -1;
    }

    private static boolean onlyBlanks(String text, int from, int to) {
        for (int at = from; at < to; at++) {
            if (!isBlank(text.charAt(at))) {
                return false;
            }
        }
        return true;
    }
}
