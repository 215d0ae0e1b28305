package org.harnesslearning.benchmarks.learning;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Options of a stage, {@code --name value} or {@code --name=value}; one that nobody asks for is refused. */
final class Arguments {
    private static final Set<String> KNOWN = Set.of(
            "again",
            "alpha",
            "arms",
            "batch",
            "candidates",
            "check",
            "checkpoint-every",
            "demonstrations",
            "dev",
            "epochs",
            "evaluate-every",
            "families",
            "feedback",
            "from",
            "gradient-checkpointing",
            "groups",
            "grpo-version",
            "held-out",
            "held-out-share",
            "in-flight",
            "keep-every",
            "key",
            "kl",
            "learning-rate",
            "max-tokens",
            "measure-kl",
            "micro-batch",
            "minutes",
            "model",
            "out",
            "parts",
            "passes",
            "patience",
            "poll-ms",
            "proposals",
            "question-seed",
            "rank",
            "repeats",
            "revision-seconds",
            "reward",
            "round-candidates",
            "rounds",
            "seed",
            "sft-version",
            "solver",
            "solver-max-tokens",
            "staleness",
            "states",
            "steps",
            "teacher",
            "temperature",
            "top-p",
            "url");

    private final Map<String, String> given = new LinkedHashMap<>();
    private final Set<String> asked = new TreeSet<>();

    Arguments(List<String> arguments) {
        for (int i = 0; i < arguments.size(); i++) {
            String argument = arguments.get(i);
            if (!argument.startsWith("--")) {
                throw new LearnException("'" + argument + "' is no option");
            }
            int equals = argument.indexOf('=');
            if (equals > 0) {
                given.put(argument.substring(2, equals), argument.substring(equals + 1));
            } else if (i + 1 < arguments.size()) {
                given.put(argument.substring(2), arguments.get(++i));
            } else {
                throw new LearnException("option " + argument + " needs a value");
            }
        }
    }

    @Nullable
    String text(String name) {
        asked.add(name);
        return given.get(name);
    }

    String text(String name, String otherwise) {
        String value = text(name);
        return value == null ? otherwise : value;
    }

    List<String> list(String name, List<String> otherwise) {
        String value = text(name);
        return value == null || value.isEmpty()
                ? otherwise
                : Arrays.stream(value.split(",")).map(String::strip).toList();
    }

    int whole(String name, int otherwise) {
        String value = text(name);
        try {
            return value == null ? otherwise : Integer.parseInt(value);
        } catch (NumberFormatException e) {
            throw new LearnException("--" + name + " needs a whole number, not '" + value + "'", e);
        }
    }

    double number(String name, double otherwise) {
        String value = text(name);
        try {
            return value == null ? otherwise : Double.parseDouble(value);
        } catch (NumberFormatException e) {
            throw new LearnException("--" + name + " needs a number, not '" + value + "'", e);
        }
    }

    /** Refuses options that no stage knows: those of other stages are left alone, so that one list serves a whole chain. */
    void end() {
        List<String> unknown = new ArrayList<>(given.keySet());
        unknown.removeAll(asked);
        unknown.removeAll(KNOWN);
        if (!unknown.isEmpty()) {
            throw new LearnException(
                    "unknown option --" + unknown.getFirst() + "; this stage reads --" + String.join(", --", asked));
        }
    }
}
