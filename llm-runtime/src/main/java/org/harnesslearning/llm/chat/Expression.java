package org.harnesslearning.llm.chat;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An expression of the template language, with the line it stands on where it can fail. */
sealed interface Expression {
    record Literal(Object value) implements Expression {}

    record Name(String name) implements Expression {}

    record ListOf(List<Expression> elements) implements Expression {}

    record DictOf(List<Map.Entry<Expression, Expression>> entries) implements Expression {}

    /** {@code target.name}: methods first, then keys. */
    record Attribute(Expression target, String name, int line) implements Expression {}

    /** {@code target[key]}: keys first, then methods. */
    record Item(Expression target, Expression key, int line) implements Expression {}

    record Slice(
            Expression target,
            @Nullable Expression from,
            @Nullable Expression to,
            @Nullable Expression step,
            int line) implements Expression {}

    record Call(Expression function, List<Expression> arguments, Map<String, Expression> named, int line)
            implements Expression {}

    record Filter(Expression target, String name, List<Expression> arguments, Map<String, Expression> named, int line)
            implements Expression {}

    record Test(Expression target, String name, List<Expression> arguments, boolean negated, int line)
            implements Expression {}

    record Not(Expression operand) implements Expression {}

    record Negate(Expression operand, int line) implements Expression {}

    record And(Expression left, Expression right) implements Expression {}

    record Or(Expression left, Expression right) implements Expression {}

    record Binary(String operator, Expression left, Expression right, int line) implements Expression {}

    /** {@code a < b <= c}: each neighbouring pair must hold. */
    record Comparison(Expression first, List<String> operators, List<Expression> rest, int line)
            implements Expression {}

    record Conditional(
            Expression condition, Expression yes, @Nullable Expression no) implements Expression {}
}
