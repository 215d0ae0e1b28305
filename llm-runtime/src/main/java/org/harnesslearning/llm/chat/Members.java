package org.harnesslearning.llm.chat;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.harnesslearning.llm.chat.Values.Callable;
import org.jspecify.annotations.Nullable;

/** The methods of Python's strings, lists and mappings that chat templates call. */
final class Members {
    private Members() {}

    /** The bound method, or null where the value has none of that name. */
    static @Nullable Callable method(Object target, String name) {
        return switch (target) {
            case String text -> stringMethod(text, name);
            case List<?> list -> listMethod(list, name);
            case Map<?, ?> map -> mapMethod(map, name);
            default -> null;
        };
    }

    private static @Nullable Callable stringMethod(String text, String name) {
        return switch (name) {
            case "strip" -> (a, n) -> Values.strip(text, optional(a), true, true);
            case "lstrip" -> (a, n) -> Values.strip(text, optional(a), true, false);
            case "rstrip" -> (a, n) -> Values.strip(text, optional(a), false, true);
            case "upper" -> (a, n) -> text.toUpperCase(Locale.ROOT);
            case "lower" -> (a, n) -> text.toLowerCase(Locale.ROOT);
            case "capitalize" -> (a, n) -> capitalize(text);
            case "title" -> (a, n) -> title(text);
            case "startswith" -> (a, n) -> anyOf(a, text::startsWith);
            case "endswith" -> (a, n) -> anyOf(a, text::endsWith);
            case "replace" ->
                (a, n) -> replace(text, string(a, 0), string(a, 1), a.size() > 2 ? (Long) a.get(2) : Long.MAX_VALUE);
            case "split" -> (a, n) -> split(text, a, false);
            case "rsplit" -> (a, n) -> split(text, a, true);
            case "splitlines" -> (a, n) -> new ArrayList<Object>(text.lines().toList());
            case "join" -> (a, n) -> join(text, a);
            case "find" -> (a, n) -> (long) text.indexOf(string(a, 0));
            case "rfind" -> (a, n) -> (long) text.lastIndexOf(string(a, 0));
            case "count" -> (a, n) -> count(text, string(a, 0));
            case "isdigit", "isnumeric" ->
                (a, n) -> !text.isEmpty() && text.codePoints().allMatch(Character::isDigit);
            case "isalpha" -> (a, n) -> !text.isEmpty() && text.codePoints().allMatch(Character::isLetter);
            case "isspace" -> (a, n) -> !text.isEmpty() && text.codePoints().allMatch(Values::isSpace);
            case "removeprefix" ->
                (a, n) -> text.startsWith(string(a, 0))
                        ? text.substring(string(a, 0).length())
                        : text;
            case "removesuffix" ->
                (a, n) -> text.endsWith(string(a, 0))
                        ? text.substring(0, text.length() - string(a, 0).length())
                        : text;
            default -> null;
        };
    }

    @SuppressWarnings("unchecked") // lists of the language hold objects
    private static @Nullable Callable listMethod(List<?> list, String name) {
        List<Object> elements = (List<Object>) list;
        return switch (name) {
            case "append" ->
                (a, n) -> {
                    elements.add(argument(a, 0));
                    return Values.NONE;
                };
            case "extend" ->
                (a, n) -> {
                    elements.addAll((List<Object>) argument(a, 0));
                    return Values.NONE;
                };
            case "pop" ->
                (a, n) -> {
                    if (elements.isEmpty()) {
                        throw new ChatTemplateException("chat template: pop from an empty list");
                    }
                    int at = a.isEmpty() ? elements.size() - 1 : Math.toIntExact((Long) a.getFirst());
                    return elements.remove(at < 0 ? at + elements.size() : at);
                };
            case "count" ->
                (a, n) -> elements.stream()
                        .filter(element -> Values.equal(element, argument(a, 0)))
                        .count();
            case "index" ->
                (a, n) -> {
                    for (int i = 0; i < elements.size(); i++) {
                        if (Values.equal(elements.get(i), argument(a, 0))) {
                            return (long) i;
                        }
                    }
                    throw new ChatTemplateException("chat template: the value is not in the list");
                };
            default -> null;
        };
    }

    @SuppressWarnings("unchecked") // mappings of the language hold objects
    private static @Nullable Callable mapMethod(Map<?, ?> map, String name) {
        Map<Object, Object> entries = (Map<Object, Object>) map;
        return switch (name) {
            case "items" -> (a, n) -> items(entries);
            case "keys" -> (a, n) -> new ArrayList<>(entries.keySet());
            case "values" -> (a, n) -> new ArrayList<>(entries.values());
            case "get" -> (a, n) -> entries.getOrDefault(argument(a, 0), a.size() > 1 ? a.get(1) : Values.NONE);
            case "update" ->
                (a, n) -> {
                    if (!a.isEmpty()) {
                        entries.putAll((Map<Object, Object>) a.getFirst());
                    }
                    entries.putAll(n);
                    return Values.NONE;
                };
            case "copy" -> (a, n) -> new java.util.LinkedHashMap<>(entries);
            default -> null;
        };
    }

    static List<Object> items(Map<?, ?> map) {
        List<Object> items = new ArrayList<>();
        map.forEach((key, value) -> items.add(new ArrayList<>(List.of(key, value))));
        return items;
    }

    static String capitalize(String text) {
        if (text.isEmpty()) {
            return text;
        }
        int end = text.offsetByCodePoints(0, 1);
        return text.substring(0, end).toUpperCase(Locale.ROOT)
                + text.substring(end).toLowerCase(Locale.ROOT);
    }

    static String title(String text) {
        StringBuilder out = new StringBuilder();
        boolean inWord = false;
        for (int c : text.codePoints().toArray()) {
            boolean letter = Character.isLetter(c);
            out.appendCodePoint(letter && !inWord ? Character.toTitleCase(c) : letter ? Character.toLowerCase(c) : c);
            inWord = letter;
        }
        return out.toString();
    }

    static String replace(String text, String from, String to, long limit) {
        StringBuilder out = new StringBuilder();
        int at = 0;
        long left = limit;
        while (left != 0 && !from.isEmpty()) {
            int found = text.indexOf(from, at);
            if (found < 0) {
                break;
            }
            out.append(text, at, found).append(to);
            at = found + from.length();
            left--;
        }
        return out.append(text, at, text.length()).toString();
    }

    private static List<Object> split(String text, List<Object> arguments, boolean fromRight) {
        Object separator = arguments.isEmpty() ? Values.NONE : arguments.getFirst();
        long limit = arguments.size() > 1 ? (Long) arguments.get(1) : -1;
        List<Object> parts = new ArrayList<>();
        if (separator instanceof Values.None) {
            String rest = Values.strip(text, null, true, true);
            if (rest.isEmpty()) {
                return parts;
            }
            if (limit >= 0) {
                throw new ChatTemplateException("chat template: split by white space with a limit is not supported");
            }
            int from = 0;
            for (int i = 0; i <= rest.length(); i++) {
                if (i == rest.length() || Values.isSpace(rest.charAt(i))) {
                    if (i > from) {
                        parts.add(rest.substring(from, i));
                    }
                    from = i + 1;
                }
            }
            return parts;
        }
        String mark = Values.string(separator);
        if (mark.isEmpty()) {
            throw new ChatTemplateException("chat template: split by an empty text");
        }
        if (fromRight) {
            int to = text.length();
            int found;
            while (limit != 0 && (found = text.lastIndexOf(mark, to - mark.length())) >= 0) {
                parts.addFirst(text.substring(found + mark.length(), to));
                to = found;
                limit--;
                if (to < mark.length()) {
                    break;
                }
            }
            parts.addFirst(text.substring(0, to));
            return parts;
        }
        int from = 0;
        int found;
        while (limit != 0 && (found = text.indexOf(mark, from)) >= 0) {
            parts.add(text.substring(from, found));
            from = found + mark.length();
            limit--;
        }
        parts.add(text.substring(from));
        return parts;
    }

    private static String join(String separator, List<Object> arguments) {
        if (!(argument(arguments, 0) instanceof List<?> elements)) {
            throw new ChatTemplateException("chat template: join needs a list");
        }
        return String.join(separator, elements.stream().map(Values::string).toList());
    }

    private static long count(String text, String part) {
        long count = 0;
        for (int at = text.indexOf(part); at >= 0 && !part.isEmpty(); at = text.indexOf(part, at + part.length())) {
            count++;
        }
        return count;
    }

    private static boolean anyOf(List<Object> arguments, java.util.function.Predicate<String> predicate) {
        if (argument(arguments, 0) instanceof List<?> choices) {
            return choices.stream().map(Values::string).anyMatch(predicate);
        }
        return predicate.test(string(arguments, 0));
    }

    private static @Nullable String optional(List<Object> arguments) {
        return arguments.isEmpty() || arguments.getFirst() instanceof Values.None ? null : string(arguments, 0);
    }

    private static String string(List<Object> arguments, int index) {
        if (argument(arguments, index) instanceof String text) {
            return text;
        }
        throw new ChatTemplateException(
                "chat template: a string is needed, not " + Values.typeName(arguments.get(index)));
    }

    private static Object argument(List<Object> arguments, int index) {
        if (index >= arguments.size()) {
            throw new ChatTemplateException("chat template: an argument is missing");
        }
        return arguments.get(index);
    }
}
