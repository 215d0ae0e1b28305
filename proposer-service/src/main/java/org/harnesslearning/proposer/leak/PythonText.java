package org.harnesslearning.proposer.leak;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;

/**
 * The texts that a Python program holds in string literals and comments, cut to some of its lines.
 *
 * <p>A lexer of what matters here alone: comments, quotes of both kinds and lengths, prefixes, escapes, replacement fields of
 * f-strings. Literals that Python joins (side by side, or with {@code +}), and comments on following lines, are one text, so
 * that a line break hides nothing. Any input is read to its end; a literal that is never closed ends with its line, or with
 * the program if it is triple-quoted.
 */
final class PythonText {
    private final String source;
    private final BitSet lines;
    private final List<String> texts = new ArrayList<>();
    private final StringBuilder literals = new StringBuilder();
    private final StringBuilder comments = new StringBuilder();
    private int line;
    private int at;

    private PythonText(String source, BitSet lines) {
        this.source = source;
        this.lines = lines;
    }

    /**
     * @param lines zero-based numbers of the lines to keep; lines end at {@code \n}
     */
    static List<String> of(String source, BitSet lines) {
        PythonText reader = new PythonText(source, lines);
        reader.code(source.length());
        reader.end();
        return reader.texts;
    }

    private void code(int end) {
        while (at < end) {
            char c = source.charAt(at);
            if (c == '#') {
                comment(end);
            } else if (c == '"' || c == '\'') {
                string("", end);
            } else if (Character.isLetter(c) || c == '_') {
                int from = at;
                while (at < end && (Character.isLetterOrDigit(source.charAt(at)) || source.charAt(at) == '_')) {
                    at++;
                }
                if (at < end && at - from <= 2 && isQuote(source.charAt(at)) && isPrefix(source.substring(from, at))) {
                    string(source.substring(from, at).toLowerCase(Locale.ROOT), end);
                } else {
                    end();
                }
            } else {
                // What may stand between literals that Python joins.
                if (!Character.isWhitespace(c) && c != '+' && c != '\\' && c != '(' && c != ')') {
                    end();
                }
                advance();
            }
        }
    }

    private void comment(int end) {
        at++;
        keep(comments, ' ');
        while (at < end && source.charAt(at) != '\n') {
            keep(comments, source.charAt(at++));
        }
    }

    private void string(String prefix, int end) {
        char quote = source.charAt(at);
        boolean triple = at + 2 < end && source.charAt(at + 1) == quote && source.charAt(at + 2) == quote;
        String closing = String.valueOf(quote).repeat(triple ? 3 : 1);
        boolean raw = prefix.indexOf('r') >= 0;
        boolean formatted = prefix.indexOf('f') >= 0;
        at += triple ? 3 : 1;
        while (at < end) {
            char c = source.charAt(at);
            if (c == quote && source.startsWith(closing, at)) {
                at += triple ? 3 : 1;
                return;
            }
            if (c == '\n' && !triple) {
                return;
            }
            if (c == '\\' && at + 1 < end) {
                if (raw) {
                    keep(c);
                    at++;
                    keep(source.charAt(at));
                    advance();
                } else {
                    escape(end);
                }
            } else if (formatted && (c == '{' || c == '}')) {
                if (at + 1 < end && source.charAt(at + 1) == c) {
                    keep(c);
                    at += 2;
                } else if (c == '{') {
                    field(end, closing);
                } else {
                    at++;
                }
            } else {
                keep(c);
                advance();
            }
        }
    }

    /** A replacement field: a gap in the text, whose own literals are texts of their own. */
    private void field(int end, String closing) {
        int from = ++at;
        int depth = 1;
        int close = from;
        while (close < end && depth > 0) {
            char c = source.charAt(close);
            if (c == '{') {
                depth++;
            } else if (c == '}') {
                depth--;
            } else if (c == closing.charAt(0) && source.startsWith(closing, close)
                    || c == '\n' && closing.length() == 1) {
                break;
            }
            close++;
        }
        int inner = depth == 0 ? close - 1 : close;
        PythonText expression = new PythonText(source, lines);
        expression.at = from;
        expression.line = line;
        expression.code(inner);
        expression.end();
        texts.addAll(expression.texts);
        keep(' ');
        while (at < close) {
            advance();
        }
    }

    private void escape(int end) {
        at++;
        char c = source.charAt(at);
        switch (c) {
            case '\n' -> advance();
            case 'n', 't', 'r', 'f', 'v', 'a', 'b' -> {
                keep(' ');
                at++;
            }
            case 'x' -> code(2, end);
            case 'u' -> code(4, end);
            case 'U' -> code(8, end);
            case 'N' -> {
                int close = source.indexOf('}', at);
                int feed = source.indexOf('\n', at);
                at = close >= 0 && close < end && (feed < 0 || close < feed) ? close + 1 : at + 1;
                keep(' ');
            }
            default -> {
                if (c >= '0' && c <= '7') {
                    int value = 0;
                    for (int i = 0; i < 3 && at < end && source.charAt(at) >= '0' && source.charAt(at) <= '7'; i++) {
                        value = value * 8 + source.charAt(at++) - '0';
                    }
                    keep((char) value);
                } else {
                    keep(c);
                    at++;
                }
            }
        }
    }

    private void code(int digits, int end) {
        at++;
        int value = 0;
        int read = 0;
        while (read < digits && at < end && Character.digit(source.charAt(at), 16) >= 0) {
            value = value * 16 + Character.digit(source.charAt(at++), 16);
            read++;
        }
        if (Character.isValidCodePoint(value)) {
            for (char c : Character.toChars(value)) {
                keep(c);
            }
        }
    }

    private void advance() {
        if (source.charAt(at) == '\n') {
            line++;
        }
        at++;
    }

    private void keep(char c) {
        keep(literals, c);
    }

    private void keep(StringBuilder text, char c) {
        if (lines.get(line)) {
            text.append(c);
        } else if (!text.isEmpty() && text.charAt(text.length() - 1) != '\0') {
            // Lines that were there before part what stands before and behind them.
            text.append('\0');
        }
    }

    private void end() {
        for (StringBuilder text : List.of(literals, comments)) {
            if (!text.isEmpty()) {
                for (String part : text.toString().split("\0")) {
                    if (!part.isBlank()) {
                        texts.add(part);
                    }
                }
                text.setLength(0);
            }
        }
    }

    private static boolean isQuote(char c) {
        return c == '"' || c == '\'';
    }

    private static boolean isPrefix(String word) {
        return switch (word.toLowerCase(Locale.ROOT)) {
            case "r", "b", "u", "f", "br", "rb", "fr", "rf" -> true;
            default -> false;
        };
    }
}
