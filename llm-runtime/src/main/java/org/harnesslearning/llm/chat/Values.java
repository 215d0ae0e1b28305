package org.harnesslearning.llm.chat;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Values of the template language with Python's meaning: {@link Boolean}, {@link Long}, {@link Double}, {@link String},
 * {@link List}, {@link Map}, {@link #NONE}, {@link Undefined} and {@link Callable}.
 */
final class Values {
    /** The type of Python's {@code None}. */
    enum None {
        NONE;

        @Override
        public String toString() {
            return "None";
        }
    }

    /** Python's {@code None}. */
    static final None NONE = None.NONE;

    /** A name or key that is not there: prints as nothing, is false, and has no members. */
    record Undefined(String what) {}

    @FunctionalInterface
    interface Callable {
        Object call(List<Object> arguments, Map<String, Object> named);
    }

    /** A mutable holder of attributes, the one way for a loop to change what surrounds it. */
    record Namespace(Map<String, Object> attributes) {}

    private Values() {}

    /** A Java value as the language sees it, with {@code text} applied to every string in it. */
    static Object mapped(@Nullable Object value, UnaryOperator<String> text) {
        return switch (value) {
            case null -> NONE;
            case String s -> text.apply(s);
            case Integer i -> i.longValue();
            case Short s -> s.longValue();
            case Byte b -> b.longValue();
            case Float f -> f.doubleValue();
            case BigDecimal d -> d.doubleValue();
            case java.math.BigInteger i -> i.longValueExact();
            case Map<?, ?> map -> {
                Map<Object, Object> copy = new LinkedHashMap<>();
                map.forEach((key, element) -> copy.put(mapped(key, text), mapped(element, text)));
                yield copy;
            }
            case Collection<?> elements -> {
                List<Object> copy = new ArrayList<>();
                elements.forEach(element -> copy.add(mapped(element, text)));
                yield copy;
            }
            default -> value;
        };
    }

    static boolean isTrue(Object value) {
        return switch (value) {
            case Boolean b -> b;
            case Long l -> l != 0;
            case Double d -> d != 0;
            case String s -> !s.isEmpty();
            case List<?> list -> !list.isEmpty();
            case Map<?, ?> map -> !map.isEmpty();
            case Undefined u -> false;
            case None none -> false;
            default -> true;
        };
    }

    /** Python's {@code str(value)}. */
    static String string(Object value) {
        return switch (value) {
            case String s -> s;
            case Undefined u -> "";
            default -> {
                StringBuilder out = new StringBuilder();
                represent(value, out);
                yield out.toString();
            }
        };
    }

    private static void represent(Object value, StringBuilder out) {
        switch (value) {
            case Boolean b -> out.append(b ? "True" : "False");
            case Double d -> out.append(number(d));
            case String s -> quoted(s, out);
            case List<?> list -> {
                out.append('[');
                String separator = "";
                for (Object element : list) {
                    out.append(separator);
                    represent(element, out);
                    separator = ", ";
                }
                out.append(']');
            }
            case Map<?, ?> map -> {
                out.append('{');
                String separator = "";
                for (Map.Entry<?, ?> entry : map.entrySet()) {
                    out.append(separator);
                    represent(entry.getKey(), out);
                    out.append(": ");
                    represent(entry.getValue(), out);
                    separator = ", ";
                }
                out.append('}');
            }
            default -> out.append(value);
        }
    }

    /** Python's {@code repr} of a string: single quotes unless only those occur inside. */
    private static void quoted(String text, StringBuilder out) {
        char quote = text.contains("'") && !text.contains("\"") ? '"' : '\'';
        out.append(quote);
        text.codePoints().forEach(c -> {
            switch (c) {
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    if (c == quote) {
                        out.append('\\').append(quote);
                    } else if (c < 0x20 || c == 0x7f) {
                        out.append("\\x%02x".formatted(c));
                    } else {
                        out.appendCodePoint(c);
                    }
                }
            }
        });
        out.append(quote);
    }

    /** Python's shortest form of a float. */
    static String number(double value) {
        if (Double.isNaN(value)) {
            return "nan";
        }
        if (Double.isInfinite(value)) {
            return value > 0 ? "inf" : "-inf";
        }
        if (value == 0) {
            return 1 / value < 0 ? "-0.0" : "0.0";
        }
        BigDecimal exact = new BigDecimal(Double.toString(value)).stripTrailingZeros();
        int exponent = exact.precision() - exact.scale() - 1;
        if (exponent >= -4 && exponent < 16) {
            String plain = exact.toPlainString();
            return plain.contains(".") ? plain : plain + ".0";
        }
        String digits = exact.unscaledValue().abs().toString();
        return (value < 0 ? "-" : "")
                + digits.charAt(0)
                + (digits.length() > 1 ? "." + digits.substring(1) : "")
                + "e%s%02d".formatted(exponent < 0 ? "-" : "+", Math.abs(exponent));
    }

    static boolean equal(Object left, Object right) {
        Object a = left instanceof Boolean b ? (Object) (b ? 1L : 0L) : left;
        Object b = right instanceof Boolean c ? (Object) (c ? 1L : 0L) : right;
        if (a instanceof Long x && b instanceof Long y) {
            return x.longValue() == y.longValue();
        }
        if (a instanceof Number x && b instanceof Number y) {
            return x.doubleValue() == y.doubleValue();
        }
        if (a instanceof List<?> x && b instanceof List<?> y) {
            if (x.size() != y.size()) {
                return false;
            }
            for (int i = 0; i < x.size(); i++) {
                if (!equal(x.get(i), y.get(i))) {
                    return false;
                }
            }
            return true;
        }
        if (a instanceof Undefined && b instanceof Undefined) {
            return true;
        }
        return a.equals(b);
    }

    /** JSON as Python's {@code json.dumps(value, ensure_ascii=False, indent=indent)} writes it. */
    static String json(Object value, int indent) {
        StringBuilder out = new StringBuilder();
        json(value, indent, 0, out);
        return out.toString();
    }

    private static void json(Object value, int indent, int level, StringBuilder out) {
        switch (value) {
            case Boolean b -> out.append(b ? "true" : "false");
            case Long l -> out.append(l.longValue());
            case Double d -> out.append(jsonNumber(d));
            case String s -> jsonString(s, out);
            case List<?> list -> {
                out.append('[');
                boolean first = true;
                for (Object element : list) {
                    separate(first, indent, level + 1, out);
                    json(element, indent, level + 1, out);
                    first = false;
                }
                closeLine(list.isEmpty(), indent, level, out);
                out.append(']');
            }
            case Map<?, ?> map -> {
                out.append('{');
                boolean first = true;
                for (Map.Entry<?, ?> entry : map.entrySet()) {
                    separate(first, indent, level + 1, out);
                    jsonString(string(entry.getKey()), out);
                    out.append(": ");
                    json(entry.getValue(), indent, level + 1, out);
                    first = false;
                }
                closeLine(map.isEmpty(), indent, level, out);
                out.append('}');
            }
            default -> {
                if (!(value instanceof None)) {
                    throw new ChatTemplateException("chat template: tojson cannot write " + typeName(value));
                }
                out.append("null");
            }
        }
    }

    private static String jsonNumber(double value) {
        if (Double.isNaN(value)) {
            return "NaN";
        }
        return Double.isInfinite(value) ? (value > 0 ? "Infinity" : "-Infinity") : number(value);
    }

    private static void separate(boolean first, int indent, int level, StringBuilder out) {
        if (!first) {
            out.append(indent < 0 ? ", " : ",");
        }
        if (indent >= 0) {
            out.append('\n').repeat(' ', indent * level);
        }
    }

    private static void closeLine(boolean empty, int indent, int level, StringBuilder out) {
        if (!empty && indent >= 0) {
            out.append('\n').repeat(' ', indent * level);
        }
    }

    private static void jsonString(String text, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                case '\b' -> out.append("\\b");
                case '\f' -> out.append("\\f");
                default -> {
                    if (c < 0x20) {
                        out.append("\\u%04x".formatted((int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }

    static String typeName(Object value) {
        return switch (value) {
            case Boolean b -> "a boolean";
            case Long l -> "an integer";
            case Double d -> "a float";
            case String s -> "a string";
            case List<?> list -> "a list";
            case Map<?, ?> map -> "a mapping";
            case Undefined u -> "'" + u.what() + "', which is undefined";
            case Namespace n -> "a namespace";
            case Callable c -> "a function";
            default -> "None";
        };
    }

    /** White space as Python's {@code str.strip} knows it. */
    static boolean isSpace(int c) {
        return Character.isWhitespace(c) || c == 0x85 || c == 0xA0 || c == 0x2007 || c == 0x202F;
    }

    static String strip(String text, @Nullable String characters, boolean left, boolean right) {
        int from = 0;
        int to = text.length();
        while (left && from < to && strips(text.charAt(from), characters)) {
            from++;
        }
        while (right && to > from && strips(text.charAt(to - 1), characters)) {
            to--;
        }
        return text.substring(from, to);
    }

    private static boolean strips(char c, @Nullable String characters) {
        return characters == null ? isSpace(c) : characters.indexOf(c) >= 0;
    }
}
