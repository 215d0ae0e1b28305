package org.harnesslearning.llm.chat;

import java.util.ArrayList;
import java.util.List;

/**
 * Cuts a template into text, {@code {{ … }}} and {@code {% … %}}, with Jinja's white-space rules as chat templates are
 * written for them: {@code trim_blocks}, {@code lstrip_blocks}, and one final newline of the file dropped.
 */
final class TemplateLexer {
    enum Kind {
        TEXT,
        OUTPUT_BEGIN,
        OUTPUT_END,
        TAG_BEGIN,
        TAG_END,
        NAME,
        STRING,
        INTEGER,
        FLOAT,
        OPERATOR,
        END
    }

    record Token(Kind kind, String text, int line) {}

    private static final List<String> OPERATORS = List.of(
            "**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<", ">", "=", "(", ")", "[", "]", "{",
            "}", ",", ".", ":", "|");

    private final String source;
    private final List<Token> tokens = new ArrayList<>();
    private int position;
    private int line = 1;

    TemplateLexer(String source) {
        String unix = source.replace("\r\n", "\n").replace('\r', '\n');
        this.source = unix.endsWith("\n") ? unix.substring(0, unix.length() - 1) : unix;
    }

    List<Token> tokens() {
        boolean stripLeft = false;
        boolean dropNewline = false;
        while (position < source.length()) {
            int tag = nextTag(position);
            String text = source.substring(position, tag);
            int textLine = line;
            line += count(text);
            if (stripLeft) {
                text = text.stripLeading();
            } else if (dropNewline && text.startsWith("\n")) {
                text = text.substring(1);
            }
            stripLeft = false;
            dropNewline = false;
            if (tag == source.length()) {
                add(Kind.TEXT, text, textLine);
                position = tag;
                break;
            }
            char kind = source.charAt(tag + 1);
            int inside = tag + 2;
            char control = inside < source.length() ? source.charAt(inside) : ' ';
            if (control == '-') {
                text = text.stripTrailing();
                inside++;
            } else if (control == '+') {
                inside++;
            } else if (kind != '{') {
                text = withoutIndent(text, tag);
            }
            if (!text.isEmpty()) {
                add(Kind.TEXT, text, textLine);
            }
            position = inside;
            switch (kind) {
                case '#' -> {
                    int end = source.indexOf("#}", inside);
                    if (end < 0) {
                        throw fail("a comment is not closed");
                    }
                    line += count(source.substring(inside, end));
                    char last = end > inside ? source.charAt(end - 1) : ' ';
                    stripLeft = last == '-';
                    dropNewline = last != '+';
                    position = end + 2;
                }
                case '{' -> {
                    add(Kind.OUTPUT_BEGIN, "{{", line);
                    stripLeft = expression("}}") == '-';
                    add(Kind.OUTPUT_END, "}}", line);
                }
                default -> {
                    add(Kind.TAG_BEGIN, "{%", line);
                    char closed = expression("%}");
                    stripLeft = closed == '-';
                    dropNewline = closed != '+';
                    add(Kind.TAG_END, "%}", line);
                }
            }
        }
        add(Kind.END, "", line);
        return tokens;
    }

    private int nextTag(int from) {
        for (int i = source.indexOf('{', from); i >= 0 && i + 1 < source.length(); i = source.indexOf('{', i + 1)) {
            char next = source.charAt(i + 1);
            if (next == '{' || next == '%' || next == '#') {
                return i;
            }
        }
        return source.length();
    }

    /** Drops blanks before a tag that stands first on its line. */
    private String withoutIndent(String text, int tag) {
        int start = text.length();
        while (start > 0 && (text.charAt(start - 1) == ' ' || text.charAt(start - 1) == '\t')) {
            start--;
        }
        boolean lineStart = start > 0
                ? text.charAt(start - 1) == '\n'
                : tag - text.length() == 0 || source.charAt(tag - text.length() - 1) == '\n';
        return lineStart ? text.substring(0, start) : text;
    }

    /** Reads tokens up to the closing mark; answers the white-space control in front of it, or a blank. */
    private char expression(String end) {
        int depth = 0;
        while (true) {
            skipBlanks();
            if (position >= source.length()) {
                throw fail("'" + end + "' is missing");
            }
            if (depth == 0) {
                char sign = source.charAt(position);
                if ((sign == '-' || sign == '+') && source.startsWith(end, position + 1)) {
                    position += 3;
                    return sign;
                }
                if (source.startsWith(end, position)) {
                    position += 2;
                    return ' ';
                }
            }
            char c = source.charAt(position);
            if (c == '\'' || c == '"') {
                string(c);
            } else if (Character.isDigit(c)) {
                number();
            } else if (Character.isUnicodeIdentifierStart(c) || c == '_') {
                int from = position;
                while (position < source.length() && (Character.isUnicodeIdentifierPart(source.charAt(position)))) {
                    position++;
                }
                add(Kind.NAME, source.substring(from, position), line);
            } else {
                String operator = operator();
                if ("([{".contains(operator)) {
                    depth++;
                } else if (")]}".contains(operator)) {
                    depth--;
                }
                add(Kind.OPERATOR, operator, line);
                position += operator.length();
            }
        }
    }

    private String operator() {
        for (String operator : OPERATORS) {
            if (source.startsWith(operator, position)) {
                return operator;
            }
        }
        throw fail("unexpected character '" + source.charAt(position) + "'");
    }

    private void skipBlanks() {
        while (position < source.length() && Character.isWhitespace(source.charAt(position))) {
            if (source.charAt(position) == '\n') {
                line++;
            }
            position++;
        }
    }

    private void number() {
        int from = position;
        while (position < source.length() && isDigit(position)) {
            position++;
        }
        boolean fraction = position + 1 < source.length() && source.charAt(position) == '.' && isDigit(position + 1);
        if (fraction) {
            position++;
            while (position < source.length() && isDigit(position)) {
                position++;
            }
        }
        int mark = position;
        if (position < source.length() && "eE".indexOf(source.charAt(position)) >= 0) {
            position++;
            if (position < source.length() && "+-".indexOf(source.charAt(position)) >= 0) {
                position++;
            }
            if (position < source.length() && Character.isDigit(source.charAt(position))) {
                fraction = true;
                while (position < source.length() && isDigit(position)) {
                    position++;
                }
            } else {
                position = mark;
            }
        }
        add(
                fraction ? Kind.FLOAT : Kind.INTEGER,
                source.substring(from, position).replace("_", ""),
                line);
    }

    private boolean isDigit(int at) {
        return Character.isDigit(source.charAt(at)) || source.charAt(at) == '_';
    }

    /** A string literal with Python's escapes. */
    private void string(char quote) {
        int startLine = line;
        StringBuilder value = new StringBuilder();
        position++;
        while (true) {
            if (position >= source.length()) {
                throw fail("a string is not closed");
            }
            char c = source.charAt(position++);
            if (c == quote) {
                break;
            }
            if (c == '\n') {
                line++;
            }
            if (c != '\\' || position >= source.length()) {
                value.append(c);
                continue;
            }
            char escape = source.charAt(position++);
            switch (escape) {
                case 'n' -> value.append('\n');
                case 't' -> value.append('\t');
                case 'r' -> value.append('\r');
                case 'b' -> value.append('\b');
                case 'f' -> value.append('\f');
                case 'a' -> value.append('\u0007');
                case 'v' -> value.append('\u000b');
                case '0' -> value.append('\0');
                case '\\', '\'', '"' -> value.append(escape);
                case '\n' -> line++;
                case 'x' -> value.appendCodePoint(hex(2));
                case 'u' -> value.appendCodePoint(hex(4));
                case 'U' -> value.appendCodePoint(hex(8));
                default -> value.append('\\').append(escape);
            }
        }
        add(Kind.STRING, value.toString(), startLine);
    }

    private int hex(int digits) {
        int end = position + digits;
        try {
            int value = Integer.parseUnsignedInt(source, position, Math.min(end, source.length()), 16);
            if (end > source.length() || !Character.isValidCodePoint(value)) {
                throw fail("a character escape is not valid");
            }
            position = end;
            return value;
        } catch (NumberFormatException e) {
            throw fail("a character escape is not valid");
        }
    }

    private void add(Kind kind, String text, int at) {
        tokens.add(new Token(kind, text, at));
    }

    private static int count(String text) {
        return (int) text.chars().filter(c -> c == '\n').count();
    }

    private ChatTemplateException fail(String reason) {
        return new ChatTemplateException("chat template, line " + line + ": " + reason);
    }
}
