package org.harnesslearning.llm.chat;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.llm.chat.TemplateLexer.Kind;
import org.harnesslearning.llm.chat.TemplateLexer.Token;
import org.jspecify.annotations.Nullable;

/** Recursive-descent parser of the Jinja subset that chat templates use; precedence as in Jinja 3. */
final class TemplateParser {
    private static final int MAX_DEPTH = 200;

    private final List<Token> tokens;
    private int position;
    private int depth;

    TemplateParser(String source) {
        this.tokens = new TemplateLexer(source).tokens();
    }

    List<Statement> parse() {
        List<Statement> body = body();
        if (peek().kind() != Kind.END) {
            throw fail("'" + peek(1).text() + "' does not belong to an open block");
        }
        return body;
    }

    /** Statements up to a tag that closes or continues the surrounding block. */
    private List<Statement> body(String... ends) {
        List<Statement> body = new ArrayList<>();
        enter();
        while (true) {
            Token token = peek();
            switch (token.kind()) {
                case TEXT -> {
                    position++;
                    body.add(new Statement.Text(token.text()));
                }
                case OUTPUT_BEGIN -> {
                    position++;
                    body.add(new Statement.Output(tuple()));
                    expect(Kind.OUTPUT_END, "}}");
                }
                case TAG_BEGIN -> {
                    String name = peek(1).text();
                    if (name.startsWith("end") || name.equals("elif") || name.equals("else")) {
                        if (List.of(ends).contains(name)) {
                            depth--;
                            return body;
                        }
                        if (ends.length == 0) {
                            depth--;
                            return body;
                        }
                        throw fail("'" + name + "' stands where one of " + List.of(ends) + " is expected");
                    }
                    position++;
                    body.add(tag());
                }
                default -> {
                    if (ends.length > 0) {
                        throw fail("'" + ends[ends.length - 1] + "' is missing");
                    }
                    depth--;
                    return body;
                }
            }
        }
    }

    private Statement tag() {
        Token name = next();
        return switch (name.text()) {
            case "if" -> ifTag();
            case "for" -> forTag(name.line());
            case "set" -> setTag(name.line());
            case "macro" -> macroTag();
            case "filter" -> filterTag(name.line());
            case "generation" -> {
                endTag();
                List<Statement> body = body("endgeneration");
                close("endgeneration");
                yield new Statement.Block(body);
            }
            case "break" -> {
                endTag();
                yield new Statement.Break();
            }
            case "continue" -> {
                endTag();
                yield new Statement.Continue();
            }
            default -> throw fail("the tag '" + name.text() + "' is not supported");
        };
    }

    private Statement ifTag() {
        List<Map.Entry<Expression, List<Statement>>> branches = new ArrayList<>();
        Expression condition = tuple();
        endTag();
        while (true) {
            branches.add(Map.entry(condition, body("elif", "else", "endif")));
            position++;
            String next = next().text();
            if (next.equals("elif")) {
                condition = tuple();
                endTag();
                continue;
            }
            endTag();
            List<Statement> otherwise = List.of();
            if (next.equals("else")) {
                otherwise = body("endif");
                close("endif");
            }
            return new Statement.If(branches, otherwise);
        }
    }

    private Statement forTag(int line) {
        List<String> targets = targets();
        expectName("in");
        // Without the ternary form: an "if" here is the loop's filter.
        Expression iterable = or();
        Expression condition = null;
        if (isName("if")) {
            position++;
            condition = expression();
        }
        if (isName("recursive")) {
            throw fail("recursive loops are not supported");
        }
        endTag();
        List<Statement> body = body("else", "endfor");
        position++;
        List<Statement> otherwise = List.of();
        if (next().text().equals("else")) {
            endTag();
            otherwise = body("endfor");
            close("endfor");
        } else {
            endTag();
        }
        return new Statement.For(targets, iterable, condition, body, otherwise, line);
    }

    private Statement setTag(int line) {
        Token first = expect(Kind.NAME, "a name");
        if (isOperator(".")) {
            position++;
            String attribute = expect(Kind.NAME, "a name").text();
            expectOperator("=");
            Expression value = tuple();
            endTag();
            return new Statement.SetAttribute(first.text(), attribute, value, line);
        }
        if (peek().kind() == Kind.TAG_END) {
            endTag();
            List<Statement> body = body("endset");
            close("endset");
            return new Statement.SetBlock(first.text(), body);
        }
        position--;
        List<String> targets = targets();
        expectOperator("=");
        Expression value = tuple();
        endTag();
        return new Statement.Set(targets, value, line);
    }

    private Statement macroTag() {
        String name = expect(Kind.NAME, "a name").text();
        expectOperator("(");
        List<String> parameters = new ArrayList<>();
        Map<String, Expression> defaults = new LinkedHashMap<>();
        while (!isOperator(")")) {
            String parameter = expect(Kind.NAME, "a parameter").text();
            parameters.add(parameter);
            if (isOperator("=")) {
                position++;
                defaults.put(parameter, expression());
            }
            if (!isOperator(")")) {
                expectOperator(",");
            }
        }
        position++;
        endTag();
        List<Statement> body = body("endmacro");
        close("endmacro");
        return new Statement.Macro(name, parameters, defaults, body);
    }

    private Statement filterTag(int line) {
        String name = expect(Kind.NAME, "a filter").text();
        Arguments arguments = isOperator("(") ? arguments() : new Arguments(List.of(), Map.of());
        endTag();
        List<Statement> body = body("endfilter");
        close("endfilter");
        return new Statement.FilterBlock(name, arguments.positional(), arguments.named(), body, line);
    }

    private List<String> targets() {
        List<String> targets = new ArrayList<>();
        boolean bracket = isOperator("(");
        if (bracket) {
            position++;
        }
        targets.add(expect(Kind.NAME, "a name").text());
        while (isOperator(",")) {
            position++;
            targets.add(expect(Kind.NAME, "a name").text());
        }
        if (bracket) {
            expectOperator(")");
        }
        return targets;
    }

    /** An expression, or several separated by commas. */
    private Expression tuple() {
        Expression first = expression();
        if (!isOperator(",")) {
            return first;
        }
        List<Expression> elements = new ArrayList<>(List.of(first));
        while (isOperator(",")) {
            position++;
            if (peek().kind() == Kind.TAG_END || peek().kind() == Kind.OUTPUT_END || isOperator(")")) {
                break;
            }
            elements.add(expression());
        }
        return new Expression.ListOf(elements);
    }

    private Expression expression() {
        enter();
        Expression value = or();
        while (isName("if")) {
            position++;
            Expression condition = or();
            Expression otherwise = null;
            if (isName("else")) {
                position++;
                otherwise = expression();
            }
            value = new Expression.Conditional(condition, value, otherwise);
        }
        depth--;
        return value;
    }

    private Expression or() {
        Expression left = and();
        while (isName("or")) {
            position++;
            left = new Expression.Or(left, and());
        }
        return left;
    }

    private Expression and() {
        Expression left = not();
        while (isName("and")) {
            position++;
            left = new Expression.And(left, not());
        }
        return left;
    }

    private Expression not() {
        if (isName("not")) {
            position++;
            enter();
            Expression operand = not();
            depth--;
            return new Expression.Not(operand);
        }
        return comparison();
    }

    private Expression comparison() {
        int line = peek().line();
        Expression first = sum();
        List<String> operators = new ArrayList<>();
        List<Expression> rest = new ArrayList<>();
        while (true) {
            Token token = peek();
            if (token.kind() == Kind.OPERATOR
                    && List.of("==", "!=", "<", "<=", ">", ">=").contains(token.text())) {
                position++;
                operators.add(token.text());
            } else if (isName("in")) {
                position++;
                operators.add("in");
            } else if (isName("not")
                    && peek(1).kind() == Kind.NAME
                    && peek(1).text().equals("in")) {
                position += 2;
                operators.add("not in");
            } else {
                return operators.isEmpty() ? first : new Expression.Comparison(first, operators, rest, line);
            }
            rest.add(sum());
        }
    }

    private Expression sum() {
        Expression left = concatenation();
        while (isOperator("+") || isOperator("-")) {
            Token operator = next();
            left = new Expression.Binary(operator.text(), left, concatenation(), operator.line());
        }
        return left;
    }

    private Expression concatenation() {
        Expression left = product();
        while (isOperator("~")) {
            Token operator = next();
            left = new Expression.Binary("~", left, product(), operator.line());
        }
        return left;
    }

    private Expression product() {
        Expression left = power();
        while (isOperator("*") || isOperator("/") || isOperator("//") || isOperator("%")) {
            Token operator = next();
            left = new Expression.Binary(operator.text(), left, power(), operator.line());
        }
        return left;
    }

    private Expression power() {
        Expression left = unary(true);
        while (isOperator("**")) {
            Token operator = next();
            left = new Expression.Binary("**", left, unary(true), operator.line());
        }
        return left;
    }

    private Expression unary(boolean withFilters) {
        Expression value;
        if (isOperator("-")) {
            int line = next().line();
            enter();
            value = new Expression.Negate(unary(false), line);
            depth--;
        } else if (isOperator("+")) {
            position++;
            enter();
            value = unary(false);
            depth--;
        } else {
            value = postfix(primary());
        }
        return withFilters ? filters(value) : value;
    }

    private Expression primary() {
        Token token = next();
        return switch (token.kind()) {
            case NAME ->
                switch (token.text()) {
                    case "true", "True" -> new Expression.Literal(true);
                    case "false", "False" -> new Expression.Literal(false);
                    case "none", "None" -> new Expression.Literal(Values.NONE);
                    default -> new Expression.Name(token.text());
                };
            case STRING -> {
                StringBuilder text = new StringBuilder(token.text());
                while (peek().kind() == Kind.STRING) {
                    text.append(next().text());
                }
                yield new Expression.Literal(text.toString());
            }
            case INTEGER -> integer(token);
            case FLOAT -> new Expression.Literal(Double.parseDouble(token.text()));
            case OPERATOR ->
                switch (token.text()) {
                    case "(" -> {
                        if (isOperator(")")) {
                            position++;
                            yield new Expression.ListOf(List.of());
                        }
                        Expression inner = tuple();
                        expectOperator(")");
                        yield inner;
                    }
                    case "[" -> {
                        List<Expression> elements = new ArrayList<>();
                        while (!isOperator("]")) {
                            elements.add(expression());
                            if (!isOperator("]")) {
                                expectOperator(",");
                            }
                        }
                        position++;
                        yield new Expression.ListOf(elements);
                    }
                    case "{" -> {
                        List<Map.Entry<Expression, Expression>> entries = new ArrayList<>();
                        while (!isOperator("}")) {
                            Expression key = expression();
                            expectOperator(":");
                            entries.add(Map.entry(key, expression()));
                            if (!isOperator("}")) {
                                expectOperator(",");
                            }
                        }
                        position++;
                        yield new Expression.DictOf(entries);
                    }
                    default -> throw fail("unexpected '" + token.text() + "'");
                };
            default -> throw fail("an expression is missing");
        };
    }

    private Expression integer(Token token) {
        try {
            return new Expression.Literal(Long.parseLong(token.text()));
        } catch (NumberFormatException e) {
            throw fail("the number " + token.text() + " is too large");
        }
    }

    private Expression postfix(Expression start) {
        Expression value = start;
        while (true) {
            int line = peek().line();
            if (isOperator(".")) {
                position++;
                Token name = next();
                value = switch (name.kind()) {
                    case NAME -> new Expression.Attribute(value, name.text(), line);
                    case INTEGER -> new Expression.Item(value, integer(name), line);
                    default -> throw fail("an attribute name is missing");
                };
            } else if (isOperator("[")) {
                position++;
                value = subscript(value, line);
            } else if (isOperator("(")) {
                Arguments arguments = arguments();
                value = new Expression.Call(value, arguments.positional(), arguments.named(), line);
            } else {
                return value;
            }
        }
    }

    private Expression subscript(Expression target, int line) {
        Expression from = isOperator(":") ? null : expression();
        if (from != null && isOperator("]")) {
            position++;
            return new Expression.Item(target, from, line);
        }
        expectOperator(":");
        Expression to = isOperator(":") || isOperator("]") ? null : expression();
        Expression step = null;
        if (isOperator(":")) {
            position++;
            step = isOperator("]") ? null : expression();
        }
        expectOperator("]");
        return new Expression.Slice(target, from, to, step, line);
    }

    private Expression filters(Expression start) {
        Expression value = start;
        while (true) {
            int line = peek().line();
            if (isOperator("|")) {
                position++;
                String name = expect(Kind.NAME, "a filter").text();
                Arguments arguments = isOperator("(") ? arguments() : new Arguments(List.of(), Map.of());
                value = new Expression.Filter(value, name, arguments.positional(), arguments.named(), line);
            } else if (isName("is")) {
                position++;
                boolean negated = isName("not");
                if (negated) {
                    position++;
                }
                String name = next().text();
                List<Expression> arguments = List.of();
                if (isOperator("(")) {
                    arguments = arguments().positional();
                } else if (takesArgument()) {
                    arguments = List.of(postfix(primary()));
                }
                value = new Expression.Test(value, name, arguments, negated, line);
            } else if (isOperator("(")) {
                Arguments arguments = arguments();
                value = new Expression.Call(value, arguments.positional(), arguments.named(), line);
            } else {
                return value;
            }
        }
    }

    /** Whether a test such as {@code divisibleby 3} has its argument without brackets. */
    private boolean takesArgument() {
        return switch (peek().kind()) {
            case STRING, INTEGER, FLOAT -> true;
            case OPERATOR -> isOperator("[") || isOperator("{");
            case NAME -> !List.of("and", "or", "else", "if", "is", "not", "in").contains(peek().text());
            default -> false;
        };
    }

    private record Arguments(List<Expression> positional, Map<String, Expression> named) {}

    private Arguments arguments() {
        expectOperator("(");
        List<Expression> positional = new ArrayList<>();
        Map<String, Expression> named = new LinkedHashMap<>();
        while (!isOperator(")")) {
            Token token = peek();
            if (token.kind() == Kind.NAME
                    && peek(1).kind() == Kind.OPERATOR
                    && peek(1).text().equals("=")) {
                position += 2;
                named.put(token.text(), expression());
            } else {
                positional.add(expression());
            }
            if (!isOperator(")")) {
                expectOperator(",");
            }
        }
        position++;
        return new Arguments(positional, named);
    }

    private void close(String end) {
        expect(Kind.TAG_BEGIN, "'" + end + "'");
        expectName(end);
        endTag();
    }

    private void endTag() {
        expect(Kind.TAG_END, "'%}'");
    }

    private Token expect(Kind kind, String what) {
        if (peek().kind() != kind) {
            throw fail(what + " is expected, not '" + peek().text() + "'");
        }
        return next();
    }

    private void expectOperator(String operator) {
        if (!isOperator(operator)) {
            throw fail("'" + operator + "' is expected, not '" + peek().text() + "'");
        }
        position++;
    }

    private void expectName(String name) {
        if (!isName(name)) {
            throw fail("'" + name + "' is expected, not '" + peek().text() + "'");
        }
        position++;
    }

    private boolean isOperator(String operator) {
        return peek().kind() == Kind.OPERATOR && peek().text().equals(operator);
    }

    private boolean isName(String name) {
        return peek().kind() == Kind.NAME && peek().text().equals(name);
    }

    private Token peek() {
        return peek(0);
    }

    private Token peek(int ahead) {
        return tokens.get(Math.min(position + ahead, tokens.size() - 1));
    }

    private Token next() {
        Token token = peek();
        position++;
        return token;
    }

    private void enter() {
        if (++depth > MAX_DEPTH) {
            throw fail("nested too deeply");
        }
    }

    private ChatTemplateException fail(String reason) {
        @Nullable Token token = peek();
        return new ChatTemplateException("chat template, line " + token.line() + ": " + reason);
    }
}
