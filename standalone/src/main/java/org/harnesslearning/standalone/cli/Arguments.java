package org.harnesslearning.standalone.cli;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Options of one command: {@code --name value}, {@code --name=value} or, for flags, {@code --name}. */
final class Arguments {
    private final Map<String, String> values;

    private Arguments(Map<String, String> values) {
        this.values = Map.copyOf(values);
    }

    /** How many words stand before the first option. */
    static int words(List<String> arguments) {
        int words = 0;
        while (words < arguments.size() && !arguments.get(words).startsWith("--")) {
            words++;
        }
        return words;
    }

    /**
     * Reads options.
     *
     * @param named names of options with a value, without dashes
     * @param flags names of options without one
     * @throws CommandException on an unknown, doubled or incomplete option
     */
    static Arguments parse(List<String> arguments, Set<String> named, Set<String> flags) {
        Map<String, String> values = new HashMap<>();
        for (int i = 0; i < arguments.size(); i++) {
            String argument = arguments.get(i);
            if (!argument.startsWith("--")) {
                throw CommandException.usage("unexpected '" + argument + "'; options start with --");
            }
            int equals = argument.indexOf('=');
            String name = argument.substring(2, equals < 0 ? argument.length() : equals);
            String value;
            if (flags.contains(name)) {
                if (equals >= 0) {
                    throw CommandException.usage("option --" + name + " takes no value");
                }
                value = "true";
            } else if (!named.contains(name)) {
                throw CommandException.usage("unknown option --" + name + "; see --help");
            } else if (equals >= 0) {
                value = argument.substring(equals + 1);
            } else if (i + 1 < arguments.size()) {
                value = arguments.get(++i);
            } else {
                throw CommandException.usage("option --" + name + " needs a value");
            }
            if (values.put(name, value) != null) {
                throw CommandException.usage("option --" + name + " is given twice");
            }
        }
        return new Arguments(values);
    }

    Optional<String> text(String name) {
        return Optional.ofNullable(values.get(name));
    }

    boolean flag(String name) {
        return values.containsKey(name);
    }

    String required(String name) {
        return text(name).orElseThrow(() -> CommandException.usage("option --" + name + " is needed; see --help"));
    }

    Optional<Integer> integer(String name, int least) {
        return text(name).map(text -> {
            try {
                int value = Integer.parseInt(text);
                if (value >= least) {
                    return value;
                }
            } catch (NumberFormatException e) {
                // Said below.
            }
            throw CommandException.usage(
                    "option --" + name + " needs a whole number from " + least + " on, not '" + text + "'");
        });
    }

    Optional<Double> number(String name) {
        return text(name).map(text -> {
            try {
                double value = Double.parseDouble(text);
                if (Double.isFinite(value)) {
                    return value;
                }
            } catch (NumberFormatException e) {
                // Said below.
            }
            throw CommandException.usage("option --" + name + " needs a number, not '" + text + "'");
        });
    }
}
