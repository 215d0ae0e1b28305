package org.harnesslearning.llm.chat;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.llm.chat.Values.Callable;
import org.harnesslearning.llm.chat.Values.Namespace;
import org.harnesslearning.llm.chat.Values.Undefined;
import org.jspecify.annotations.Nullable;

/**
 * Runs a parsed template once. Nothing outside the given variables can be reached, and work and output are bounded, since
 * templates come with checkpoints from anywhere.
 */
final class Interpreter {
    private static final long MAX_STEPS = 5_000_000;
    private static final int MAX_OUTPUT = 64 << 20;
    private static final int MAX_CALL_DEPTH = 100;
    private static final int MAX_RANGE = 1_000_000;

    private enum Flow {
        NORMAL,
        BREAK,
        CONTINUE
    }

    /** Names of one template, macro or loop round. */
    private record Scope(@Nullable Scope outer, Map<String, Object> names) {
        @Nullable
        Object find(String name) {
            for (Scope scope = this; scope != null; scope = scope.outer) {
                Object value = scope.names.get(name);
                if (value != null) {
                    return value;
                }
            }
            return null;
        }
    }

    private StringBuilder out = new StringBuilder();
    private long steps;
    private int callDepth;

    String render(List<Statement> template, Map<String, Object> variables) {
        Map<String, Object> globals = new HashMap<>();
        globals.put("range", (Callable) (arguments, named) -> range(arguments));
        globals.put("namespace", (Callable) (arguments, named) -> new Namespace(dict(arguments, named)));
        globals.put("dict", (Callable) (arguments, named) -> new LinkedHashMap<Object, Object>(dict(arguments, named)));
        globals.put("raise_exception", (Callable) (arguments, named) -> {
            throw new ChatTemplateException(
                    "the chat template refuses the conversation: " + Values.string(arguments.getFirst()));
        });
        globals.putAll(variables);
        run(template, new Scope(new Scope(null, globals), new HashMap<>()));
        return out.toString();
    }

    // ---- statements

    private Flow run(List<Statement> body, Scope scope) {
        for (Statement statement : body) {
            step();
            Flow flow = run(statement, scope);
            if (flow != Flow.NORMAL) {
                return flow;
            }
        }
        return Flow.NORMAL;
    }

    private Flow run(Statement statement, Scope scope) {
        switch (statement) {
            case Statement.Text text -> write(text.text());
            case Statement.Output output -> write(Values.string(value(output.expression(), scope)));
            case Statement.If branch -> {
                for (Map.Entry<Expression, List<Statement>> option : branch.branches()) {
                    if (Values.isTrue(value(option.getKey(), scope))) {
                        return run(option.getValue(), scope);
                    }
                }
                return run(branch.otherwise(), scope);
            }
            case Statement.For loop -> loop(loop, scope);
            case Statement.Set set -> assign(scope, set.targets(), value(set.value(), scope), set.line());
            case Statement.SetAttribute set -> {
                if (!(scope.find(set.object()) instanceof Namespace namespace)) {
                    throw fail(set.line(), "'" + set.object() + "' is not a namespace");
                }
                namespace.attributes().put(set.attribute(), value(set.value(), scope));
            }
            case Statement.SetBlock set -> scope.names().put(set.target(), captured(set.body(), scope));
            case Statement.Macro macro -> scope.names().put(macro.name(), macro(macro, scope));
            case Statement.FilterBlock block ->
                write(Values.string(filter(
                        captured(block.body(), scope),
                        block.name(),
                        values(block.arguments(), scope),
                        values(block.named(), scope),
                        block.line())));
            case Statement.Block block -> {
                return run(block.body(), scope);
            }
            case Statement.Break ignored -> {
                return Flow.BREAK;
            }
            case Statement.Continue ignored -> {
                return Flow.CONTINUE;
            }
        }
        return Flow.NORMAL;
    }

    private void loop(Statement.For loop, Scope scope) {
        List<Object> elements = new ArrayList<>();
        for (Object element : elements(value(loop.iterable(), scope), loop.line())) {
            step();
            Scope inner = new Scope(scope, new HashMap<>());
            assign(inner, loop.targets(), element, loop.line());
            if (loop.condition() == null || Values.isTrue(value(loop.condition(), inner))) {
                elements.add(element);
            }
        }
        if (elements.isEmpty()) {
            run(loop.otherwise(), scope);
            return;
        }
        for (int i = 0; i < elements.size(); i++) {
            step();
            Scope inner = new Scope(scope, new HashMap<>());
            assign(inner, loop.targets(), elements.get(i), loop.line());
            inner.names().put("loop", loopVariable(elements, i));
            if (run(loop.body(), inner) == Flow.BREAK) {
                return;
            }
        }
    }

    private static Map<String, Object> loopVariable(List<Object> elements, int i) {
        int size = elements.size();
        Map<String, Object> loop = new HashMap<>();
        loop.put("index", i + 1L);
        loop.put("index0", (long) i);
        loop.put("revindex", (long) size - i);
        loop.put("revindex0", size - i - 1L);
        loop.put("first", i == 0);
        loop.put("last", i == size - 1);
        loop.put("length", (long) size);
        if (i > 0) {
            loop.put("previtem", elements.get(i - 1));
        }
        if (i + 1 < size) {
            loop.put("nextitem", elements.get(i + 1));
        }
        loop.put("cycle", (Callable) (arguments, named) -> arguments.get(i % arguments.size()));
        return loop;
    }

    private void assign(Scope scope, List<String> targets, Object value, int line) {
        if (targets.size() == 1) {
            scope.names().put(targets.getFirst(), value);
            return;
        }
        List<Object> elements = elements(value, line);
        if (elements.size() != targets.size()) {
            throw fail(line, targets.size() + " names for " + elements.size() + " values");
        }
        for (int i = 0; i < targets.size(); i++) {
            scope.names().put(targets.get(i), elements.get(i));
        }
    }

    private Callable macro(Statement.Macro macro, Scope definition) {
        return (arguments, named) -> {
            Scope inner = new Scope(definition, new HashMap<>());
            for (int i = 0; i < macro.parameters().size(); i++) {
                String parameter = macro.parameters().get(i);
                Expression fallback = macro.defaults().get(parameter);
                Object value;
                if (i < arguments.size()) {
                    value = arguments.get(i);
                } else if (named.containsKey(parameter)) {
                    value = named.get(parameter);
                } else {
                    value = fallback == null ? new Undefined(parameter) : value(fallback, inner);
                }
                inner.names().put(parameter, value);
            }
            if (++callDepth > MAX_CALL_DEPTH) {
                throw new ChatTemplateException("chat template: macro '" + macro.name() + "' calls itself too deeply");
            }
            String text = captured(macro.body(), inner);
            callDepth--;
            return text;
        };
    }

    private String captured(List<Statement> body, Scope scope) {
        StringBuilder saved = out;
        out = new StringBuilder();
        try {
            run(body, scope);
            return out.toString();
        } finally {
            out = saved;
        }
    }

    private void write(String text) {
        if (out.length() + (long) text.length() > MAX_OUTPUT) {
            throw new ChatTemplateException("chat template: the output is too long");
        }
        out.append(text);
    }

    private void step() {
        if (++steps > MAX_STEPS) {
            throw new ChatTemplateException("chat template: it does not come to an end");
        }
    }

    // ---- expressions

    private Object value(Expression expression, Scope scope) {
        step();
        return switch (expression) {
            case Expression.Literal literal -> literal.value();
            case Expression.Name name -> {
                Object found = scope.find(name.name());
                yield found == null ? new Undefined(name.name()) : found;
            }
            case Expression.ListOf list -> new ArrayList<>(values(list.elements(), scope));
            case Expression.DictOf dict -> {
                Map<Object, Object> map = new LinkedHashMap<>();
                dict.entries().forEach(entry -> map.put(value(entry.getKey(), scope), value(entry.getValue(), scope)));
                yield map;
            }
            case Expression.Attribute attribute ->
                attribute(value(attribute.target(), scope), attribute.name(), attribute.line());
            case Expression.Item item -> item(value(item.target(), scope), value(item.key(), scope), item.line());
            case Expression.Slice slice -> slice(slice, scope);
            case Expression.Call call -> {
                Object function = value(call.function(), scope);
                if (!(function instanceof Callable callable)) {
                    throw fail(call.line(), Values.typeName(function) + " cannot be called");
                }
                yield callable.call(values(call.arguments(), scope), values(call.named(), scope));
            }
            case Expression.Filter filter ->
                filter(
                        value(filter.target(), scope),
                        filter.name(),
                        values(filter.arguments(), scope),
                        values(filter.named(), scope),
                        filter.line());
            case Expression.Test test ->
                test(value(test.target(), scope), test.name(), values(test.arguments(), scope), test.line())
                        != test.negated();
            case Expression.Not not -> !Values.isTrue(value(not.operand(), scope));
            case Expression.Negate negate ->
                switch (value(negate.operand(), scope)) {
                    case Long number -> -number;
                    case Double number -> -number;
                    case Object other -> throw fail(negate.line(), "no negative of " + Values.typeName(other));
                };
            case Expression.And and -> {
                Object left = value(and.left(), scope);
                yield Values.isTrue(left) ? value(and.right(), scope) : left;
            }
            case Expression.Or or -> {
                Object left = value(or.left(), scope);
                yield Values.isTrue(left) ? left : value(or.right(), scope);
            }
            case Expression.Binary binary ->
                binary(binary.operator(), value(binary.left(), scope), value(binary.right(), scope), binary.line());
            case Expression.Comparison comparison -> compared(comparison, scope);
            case Expression.Conditional conditional -> {
                if (Values.isTrue(value(conditional.condition(), scope))) {
                    yield value(conditional.yes(), scope);
                }
                yield conditional.no() == null ? new Undefined("else") : value(conditional.no(), scope);
            }
        };
    }

    private List<Object> values(List<Expression> expressions, Scope scope) {
        List<Object> values = new ArrayList<>(expressions.size());
        for (Expression expression : expressions) {
            values.add(value(expression, scope));
        }
        return values;
    }

    private Map<String, Object> values(Map<String, Expression> expressions, Scope scope) {
        Map<String, Object> values = new LinkedHashMap<>();
        expressions.forEach((name, expression) -> values.put(name, value(expression, scope)));
        return values;
    }

    private static Object attribute(Object target, String name, int line) {
        if (target instanceof Undefined) {
            throw fail(line, Values.typeName(target) + " has no '" + name + "'");
        }
        if (target instanceof Namespace namespace) {
            Object value = namespace.attributes().get(name);
            return value == null ? new Undefined(name) : value;
        }
        Callable method = Members.method(target, name);
        if (method != null) {
            return method;
        }
        if (target instanceof Map<?, ?> map) {
            Object value = map.get(name);
            return value == null ? new Undefined(name) : value;
        }
        return new Undefined(name);
    }

    private static Object item(Object target, Object key, int line) {
        if (target instanceof Undefined) {
            throw fail(line, Values.typeName(target) + " has no elements");
        }
        if (target instanceof Map<?, ?> map) {
            Object value = map.get(key);
            if (value != null) {
                return value;
            }
        }
        if (key instanceof Long index && (target instanceof List<?> || target instanceof String)) {
            List<?> elements = target instanceof List<?> list ? list : characters((String) target);
            long at = index < 0 ? index + elements.size() : index;
            return at >= 0 && at < elements.size() ? elements.get((int) at) : new Undefined("element " + index);
        }
        if (key instanceof String name) {
            return attribute(target, name, line);
        }
        return new Undefined(Values.string(key));
    }

    private Object slice(Expression.Slice slice, Scope scope) {
        Object target = value(slice.target(), scope);
        List<?> elements = switch (target) {
            case List<?> list -> list;
            case String text -> characters(text);
            case Object other -> throw fail(slice.line(), Values.typeName(other) + " cannot be sliced");
        };
        int size = elements.size();
        long step = bound(slice.step(), scope, 1, slice.line());
        if (step == 0) {
            throw fail(slice.line(), "a slice needs a step other than 0");
        }
        long from = bound(slice.from(), scope, step > 0 ? 0 : size - 1, slice.line());
        long to = bound(slice.to(), scope, step > 0 ? size : -size - 1L, slice.line());
        from = clamp(from < 0 ? from + size : from, step, size);
        to = clamp(to < 0 ? to + size : to, step, size);
        List<Object> part = new ArrayList<>();
        for (long i = from; step > 0 ? i < to : i > to; i += step) {
            part.add(elements.get((int) i));
        }
        if (target instanceof String) {
            StringBuilder text = new StringBuilder();
            part.forEach(text::append);
            return text.toString();
        }
        return part;
    }

    private long bound(@Nullable Expression expression, Scope scope, long otherwise, int line) {
        Object value = expression == null ? Values.NONE : value(expression, scope);
        if (value instanceof Values.None) {
            return otherwise;
        }
        if (value instanceof Long number) {
            return number;
        }
        throw fail(line, "a slice needs integers, not " + Values.typeName(value));
    }

    private static long clamp(long index, long step, int size) {
        return step > 0 ? Math.clamp(index, 0, size) : Math.clamp(index, -1, size - 1);
    }

    private static List<String> characters(String text) {
        return text.codePoints().mapToObj(Character::toString).toList();
    }

    private boolean compared(Expression.Comparison comparison, Scope scope) {
        Object left = value(comparison.first(), scope);
        for (int i = 0; i < comparison.operators().size(); i++) {
            Object right = value(comparison.rest().get(i), scope);
            boolean holds = switch (comparison.operators().get(i)) {
                case "==" -> Values.equal(left, right);
                case "!=" -> !Values.equal(left, right);
                case "in" -> contains(right, left, comparison.line());
                case "not in" -> !contains(right, left, comparison.line());
                case "<" -> order(left, right, comparison.line()) < 0;
                case "<=" -> order(left, right, comparison.line()) <= 0;
                case ">" -> order(left, right, comparison.line()) > 0;
                case ">=" -> order(left, right, comparison.line()) >= 0;
                case String other -> throw fail(comparison.line(), "unknown comparison " + other);
            };
            if (!holds) {
                return false;
            }
            left = right;
        }
        return true;
    }

    private static boolean contains(Object container, Object element, int line) {
        return switch (container) {
            case String text when element instanceof String part -> text.contains(part);
            case List<?> list -> list.stream().anyMatch(other -> Values.equal(other, element));
            case Map<?, ?> map -> map.containsKey(element);
            case Undefined u -> false;
            default ->
                throw fail(line, Values.typeName(element) + " cannot be looked for in " + Values.typeName(container));
        };
    }

    private static int order(Object left, Object right, int line) {
        if (left instanceof Long a && right instanceof Long b) {
            return Long.compare(a, b);
        }
        if (left instanceof Number a && right instanceof Number b) {
            return Double.compare(a.doubleValue(), b.doubleValue());
        }
        if (left instanceof String a && right instanceof String b) {
            return a.compareTo(b);
        }
        throw fail(line, Values.typeName(left) + " and " + Values.typeName(right) + " have no order");
    }

    private Object binary(String operator, Object left, Object right, int line) {
        if (operator.equals("~")) {
            return limited(Values.string(left) + Values.string(right));
        }
        if (operator.equals("+") && left instanceof String a && right instanceof String b) {
            return limited(a + b);
        }
        if (operator.equals("+") && left instanceof List<?> a && right instanceof List<?> b) {
            List<Object> joined = new ArrayList<>(a);
            joined.addAll(b);
            return joined;
        }
        if (operator.equals("*") && left instanceof String text && right instanceof Long times) {
            if (times > 0 && text.length() * (double) times > MAX_OUTPUT) {
                throw fail(line, "a repeated text is too long");
            }
            return text.repeat((int) Math.max(0, times));
        }
        if (left instanceof Long a && right instanceof Long b) {
            return integers(operator, a, b, line);
        }
        if (left instanceof Number a && right instanceof Number b) {
            return floats(operator, a.doubleValue(), b.doubleValue(), line);
        }
        throw fail(
                line,
                "'%s' does not apply to %s and %s".formatted(operator, Values.typeName(left), Values.typeName(right)));
    }

    private static String limited(String text) {
        if (text.length() > MAX_OUTPUT) {
            throw new ChatTemplateException("chat template: a text is too long");
        }
        return text;
    }

    private static Object integers(String operator, long a, long b, int line) {
        if (b == 0 && (operator.equals("/") || operator.equals("//") || operator.equals("%"))) {
            throw fail(line, "division by zero");
        }
        return switch (operator) {
            case "+" -> a + b;
            case "-" -> a - b;
            case "*" -> a * b;
            case "/" -> (double) a / b;
            case "//" -> Math.floorDiv(a, b);
            case "%" -> Math.floorMod(a, b);
            case "**" -> b >= 0 ? (Object) (long) Math.pow(a, b) : (Object) Math.pow(a, b);
            case String other -> throw fail(line, "unknown operator " + other);
        };
    }

    private static double floats(String operator, double a, double b, int line) {
        return switch (operator) {
            case "+" -> a + b;
            case "-" -> a - b;
            case "*" -> a * b;
            case "/" -> a / b;
            case "//" -> Math.floor(a / b);
            case "%" -> a - b * Math.floor(a / b);
            case "**" -> Math.pow(a, b);
            case String other -> throw fail(line, "unknown operator " + other);
        };
    }

    private static List<Object> elements(Object value, int line) {
        return switch (value) {
            case List<?> list -> new ArrayList<>(list);
            case Map<?, ?> map -> new ArrayList<>(map.keySet());
            case String text -> new ArrayList<>(characters(text));
            case Undefined u -> List.of();
            default -> throw fail(line, Values.typeName(value) + " cannot be walked through");
        };
    }

    private static Object range(List<Object> arguments) {
        List<Long> bounds = new ArrayList<>();
        for (Object argument : arguments) {
            if (!(argument instanceof Long number)) {
                throw new ChatTemplateException("chat template: range needs integers");
            }
            bounds.add(number);
        }
        long from = bounds.size() > 1 ? bounds.get(0) : 0;
        long to = bounds.size() > 1 ? bounds.get(1) : bounds.getFirst();
        long step = bounds.size() > 2 ? bounds.get(2) : 1;
        if (step == 0 || Math.abs((to - from) / step) > MAX_RANGE) {
            throw new ChatTemplateException("chat template: the range is too long");
        }
        List<Object> numbers = new ArrayList<>();
        for (long i = from; step > 0 ? i < to : i > to; i += step) {
            numbers.add(i);
        }
        return numbers;
    }

    private static Map<String, Object> dict(List<Object> arguments, Map<String, Object> named) {
        Map<String, Object> attributes = new LinkedHashMap<>();
        if (!arguments.isEmpty() && arguments.getFirst() instanceof Map<?, ?> map) {
            map.forEach((key, value) -> attributes.put(Values.string(key), value));
        }
        attributes.putAll(named);
        return attributes;
    }

    // ---- tests

    private static boolean test(Object value, String name, List<Object> arguments, int line) {
        return switch (name) {
            case "defined" -> !(value instanceof Undefined);
            case "undefined" -> value instanceof Undefined;
            case "none" -> value instanceof Values.None;
            case "string" -> value instanceof String;
            case "mapping" -> value instanceof Map;
            case "sequence", "iterable" -> value instanceof List || value instanceof String || value instanceof Map;
            case "number" -> value instanceof Number || value instanceof Boolean;
            case "integer" -> value instanceof Long;
            case "float" -> value instanceof Double;
            case "boolean" -> value instanceof Boolean;
            case "true" -> Boolean.TRUE.equals(value);
            case "false" -> Boolean.FALSE.equals(value);
            case "callable" -> value instanceof Callable;
            case "odd" -> value instanceof Long number && Math.floorMod(number, 2L) == 1;
            case "even" -> value instanceof Long number && Math.floorMod(number, 2L) == 0;
            case "divisibleby" -> value instanceof Long number && number % (Long) arguments.getFirst() == 0;
            case "equalto", "eq", "sameas" -> Values.equal(value, arguments.getFirst());
            case "ne" -> !Values.equal(value, arguments.getFirst());
            case "in" -> contains(arguments.getFirst(), value, line);
            case "lower" -> value instanceof String text && text.equals(text.toLowerCase(Locale.ROOT));
            case "upper" -> value instanceof String text && text.equals(text.toUpperCase(Locale.ROOT));
            default -> throw fail(line, "the test '" + name + "' is not supported");
        };
    }

    // ---- filters

    private Object filter(Object value, String name, List<Object> arguments, Map<String, Object> named, int line) {
        return switch (name) {
            case "tojson" -> {
                Object indent = argument(arguments, named, 0, "indent");
                yield Values.json(value, indent instanceof Long width ? Math.toIntExact(width) : -1);
            }
            case "trim" -> {
                Object characters = argument(arguments, named, 0, "chars");
                yield Values.strip(Values.string(value), characters instanceof String text ? text : null, true, true);
            }
            case "length", "count" -> length(value, line);
            case "upper" -> Values.string(value).toUpperCase(Locale.ROOT);
            case "lower" -> Values.string(value).toLowerCase(Locale.ROOT);
            case "capitalize" -> Members.capitalize(Values.string(value));
            case "title" -> Members.title(Values.string(value));
            case "string", "safe" -> Values.string(value);
            case "e", "escape" ->
                Values.string(value)
                        .replace("&", "&amp;")
                        .replace("<", "&lt;")
                        .replace(">", "&gt;")
                        .replace("\"", "&#34;")
                        .replace("'", "&#39;");
            case "int" -> toInteger(value);
            case "float" -> value instanceof Number number ? number.doubleValue() : 0.0;
            case "abs" ->
                switch (value) {
                    case Long number -> Math.abs(number);
                    case Double number -> Math.abs(number);
                    case Object other -> throw fail(line, "abs of " + Values.typeName(other));
                };
            case "list" -> elements(value, line);
            case "items" -> value instanceof Map<?, ?> map ? Members.items(map) : List.of();
            case "dictsort" -> {
                List<Object> items = Members.items(value instanceof Map<?, ?> map ? map : Map.of());
                items.sort(Comparator.comparing(
                        item -> Values.string(((List<?>) item).getFirst()).toLowerCase(Locale.ROOT)));
                yield items;
            }
            case "first" -> {
                List<Object> elements = elements(value, line);
                yield elements.isEmpty() ? new Undefined("first") : elements.getFirst();
            }
            case "last" -> {
                List<Object> elements = elements(value, line);
                yield elements.isEmpty() ? new Undefined("last") : elements.getLast();
            }
            case "reverse" ->
                value instanceof String text
                        ? new StringBuilder(text).reverse().toString()
                        : new ArrayList<>(elements(value, line).reversed());
            case "sort" -> {
                List<Object> elements = new ArrayList<>(elements(value, line));
                elements.sort((a, b) -> order(a, b, line));
                yield elements;
            }
            case "unique" -> {
                Set<Object> seen = new LinkedHashSet<>(elements(value, line));
                yield new ArrayList<>(seen);
            }
            case "join" -> {
                Object separator = argument(arguments, named, 0, "d");
                Object attribute = argument(arguments, named, 1, "attribute");
                List<String> parts = new ArrayList<>();
                for (Object element : elements(value, line)) {
                    parts.add(Values.string(attribute instanceof String key ? item(element, key, line) : element));
                }
                yield limited(String.join(separator instanceof String text ? text : "", parts));
            }
            case "replace" ->
                Members.replace(
                        Values.string(value),
                        Values.string(arguments.get(0)),
                        Values.string(arguments.get(1)),
                        Long.MAX_VALUE);
            case "default", "d" -> {
                Object fallback = argument(arguments, named, 0, "default_value");
                boolean alsoFalse = argument(arguments, named, 1, "boolean") instanceof Boolean b && b;
                boolean missing = value instanceof Undefined || (alsoFalse && !Values.isTrue(value));
                yield missing ? (fallback == null ? "" : fallback) : value;
            }
            case "indent" -> indent(Values.string(value), arguments, named);
            case "map" -> {
                List<Object> mapped = new ArrayList<>();
                for (Object element : elements(value, line)) {
                    if (named.get("attribute") instanceof String key) {
                        mapped.add(item(element, key, line));
                    } else {
                        mapped.add(filter(
                                element,
                                Values.string(arguments.getFirst()),
                                arguments.subList(1, arguments.size()),
                                named,
                                line));
                    }
                }
                yield mapped;
            }
            case "select", "reject" -> {
                List<Object> kept = new ArrayList<>();
                for (Object element : elements(value, line)) {
                    boolean holds = arguments.isEmpty()
                            ? Values.isTrue(element)
                            : test(
                                    element,
                                    Values.string(arguments.getFirst()),
                                    arguments.subList(1, arguments.size()),
                                    line);
                    if (holds == name.equals("select")) {
                        kept.add(element);
                    }
                }
                yield kept;
            }
            case "selectattr", "rejectattr" -> {
                List<Object> kept = new ArrayList<>();
                for (Object element : elements(value, line)) {
                    Object member = item(element, arguments.getFirst(), line);
                    boolean holds = arguments.size() == 1
                            ? Values.isTrue(member)
                            : test(
                                    member,
                                    Values.string(arguments.get(1)),
                                    arguments.subList(2, arguments.size()),
                                    line);
                    if (holds == name.equals("selectattr")) {
                        kept.add(element);
                    }
                }
                yield kept;
            }
            default -> throw fail(line, "the filter '" + name + "' is not supported");
        };
    }

    private static @Nullable Object argument(
            List<Object> arguments, Map<String, Object> named, int index, String name) {
        return index < arguments.size() ? arguments.get(index) : named.get(name);
    }

    private static long length(Object value, int line) {
        return switch (value) {
            case String text -> text.codePointCount(0, text.length());
            case List<?> list -> list.size();
            case Map<?, ?> map -> map.size();
            case Undefined u -> 0;
            default -> throw fail(line, Values.typeName(value) + " has no length");
        };
    }

    private static long toInteger(Object value) {
        return switch (value) {
            case Long number -> number;
            case Double number -> number.longValue();
            case Boolean b -> b ? 1 : 0;
            case String text when text.strip().matches("[+-]?\\d{1,18}") -> Long.parseLong(text.strip());
            default -> 0;
        };
    }

    private static String indent(String text, List<Object> arguments, Map<String, Object> named) {
        Object width = argument(arguments, named, 0, "width");
        boolean first = argument(arguments, named, 1, "first") instanceof Boolean b && b;
        boolean blank = argument(arguments, named, 2, "blank") instanceof Boolean b && b;
        String pad = width instanceof String s ? s : " ".repeat(width instanceof Long w ? Math.toIntExact(w) : 4);
        List<String> lines = List.of(text.split("\n", -1));
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i);
            out.append(i > 0 ? "\n" : "");
            out.append(i == 0 ? (first ? pad : "") : (blank || !line.isBlank() ? pad : ""));
            out.append(line);
        }
        return out.toString();
    }

    private static ChatTemplateException fail(int line, String reason) {
        return new ChatTemplateException("chat template, line " + line + ": " + reason);
    }
}
