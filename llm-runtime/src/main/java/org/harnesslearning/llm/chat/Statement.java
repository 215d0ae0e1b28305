package org.harnesslearning.llm.chat;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A statement of the template language. */
sealed interface Statement {
    record Text(String text) implements Statement {}

    record Output(Expression expression) implements Statement {}

    record If(List<Map.Entry<Expression, List<Statement>>> branches, List<Statement> otherwise) implements Statement {}

    record For(
            List<String> targets,
            Expression iterable,
            @Nullable Expression condition,
            List<Statement> body,
            List<Statement> otherwise,
            int line)
            implements Statement {}

    record Set(List<String> targets, Expression value, int line) implements Statement {}

    /** {@code set object.attribute = value}, for namespaces. */
    record SetAttribute(String object, String attribute, Expression value, int line) implements Statement {}

    record SetBlock(String target, List<Statement> body) implements Statement {}

    record Macro(String name, List<String> parameters, Map<String, Expression> defaults, List<Statement> body)
            implements Statement {}

    /** {@code filter}, applied to what the body writes. */
    record FilterBlock(
            String name, List<Expression> arguments, Map<String, Expression> named, List<Statement> body, int line)
            implements Statement {}

    /** A body without effect of its own ({@code generation} marks what a model wrote; it prints its content). */
    record Block(List<Statement> body) implements Statement {}

    record Break() implements Statement {}

    record Continue() implements Statement {}
}
