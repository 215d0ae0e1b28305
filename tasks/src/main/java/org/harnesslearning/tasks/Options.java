package org.harnesslearning.tasks;

import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Reads a scorer's options with one clear message for each fault. */
record Options(Map<String, Object> values) {
    /** Refuses every option outside {@code known}. */
    Options only(String... known) {
        for (String name : new TreeSet<>(values.keySet())) {
            if (!Set.of(known).contains(name)) {
                throw new ScorerFactory.InvalidOptionException(
                        name,
                        "there is no option \"" + Texts.clip(name) + "\""
                                + (known.length == 0
                                        ? "; it takes none"
                                        : "; known are " + String.join(", ", new TreeSet<>(Set.of(known)))));
            }
        }
        return this;
    }

    boolean flag(String name) {
        Object value = values.getOrDefault(name, false);
        if (value instanceof Boolean flag) {
            return flag;
        }
        throw new ScorerFactory.InvalidOptionException(name, name + " must be true or false");
    }

    /** A finite number that is not negative; 0 when absent. */
    double tolerance(String name) {
        Object value = values.getOrDefault(name, 0);
        if (value instanceof Number number) {
            double tolerance = number.doubleValue();
            if (tolerance >= 0 && tolerance < Double.POSITIVE_INFINITY) {
                return tolerance;
            }
        }
        throw new ScorerFactory.InvalidOptionException(name, name + " must be a finite number that is not negative");
    }

    @Nullable
    String text(String name) {
        Object value = values.get(name);
        if (value == null || value instanceof String) {
            return (String) value;
        }
        throw new ScorerFactory.InvalidOptionException(name, name + " must be a text");
    }
}
