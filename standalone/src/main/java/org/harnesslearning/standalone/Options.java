package org.harnesslearning.standalone;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * How the platform is started.
 *
 * @param data folder that is kept between runs
 * @param host address that the gateway listens on
 * @param port port of the gateway; 0 for any free one
 * @param training whether this start only trains the start-up cache
 * @param properties further properties for all services, as {@code name=value}
 */
record Options(Path data, String host, int port, boolean training, List<String> properties) {
    private static final int DEFAULT_PORT = 8080;
    private static final int MAX_PORT = 65_535;
    private static final String JSON_LOGS = "logging.structured.format.";

    Options {
        properties = List.copyOf(properties);
    }

    /**
     * Reads command line and environment.
     *
     * @throws StandaloneException when an option is wrong
     */
    static Options of(String[] arguments, Map<String, String> environment) {
        Path data = Path.of(environment.getOrDefault("HARNESS_DATA", ".harness"));
        String host = environment.getOrDefault("HARNESS_HOST", "127.0.0.1");
        int port = port(environment.getOrDefault("HARNESS_PORT", Integer.toString(DEFAULT_PORT)));
        boolean training = false;
        List<String> properties = new ArrayList<>();
        for (int i = 0; i < arguments.length; i++) {
            String argument = arguments[i];
            if (argument.equals("--train-start-up-cache")) {
                training = true;
                continue;
            }
            String value;
            int equals = argument.indexOf('=');
            String name = equals < 0 ? argument : argument.substring(0, equals);
            if (equals >= 0) {
                value = argument.substring(equals + 1);
            } else if (i + 1 < arguments.length) {
                value = arguments[++i];
            } else {
                throw new StandaloneException("option " + argument + " needs a value or is unknown");
            }
            switch (name) {
                case "--data" -> data = Path.of(value);
                case "--host" -> host = value;
                case "--port" -> port = port(value);
                case "--set" -> properties.add(value);
                default ->
                    throw new StandaloneException(
                            "unknown option " + name + "; known: --data, --host, --port, --set NAME=VALUE");
            }
        }
        return new Options(data.toAbsolutePath().normalize(), host, port, training, properties);
    }

    /** Whether the log's lines are JSON objects: the property that switches it in a service run alone has any value. */
    boolean jsonLogs() {
        return properties.stream().anyMatch(property -> property.startsWith(JSON_LOGS));
    }

    /**
     * A service's arguments with the properties that were given, which replace those of the same name: Spring would take
     * one that stands there twice for a list.
     *
     * @param own each as {@code --name=value}
     */
    List<String> over(List<String> own) {
        Set<String> given = properties.stream().map(Options::name).collect(Collectors.toSet());
        Stream<String> kept = own.stream().filter(argument -> !given.contains(name(argument.substring(2))));
        return Stream.concat(kept, properties.stream().map(property -> "--" + property))
                .toList();
    }

    private static String name(String property) {
        int equals = property.indexOf('=');
        return equals < 0 ? property : property.substring(0, equals);
    }

    private static int port(String text) {
        try {
            int port = Integer.parseInt(text);
            if (port >= 0 && port <= MAX_PORT) {
                return port;
            }
        } catch (NumberFormatException e) {
            // Said below.
        }
        throw new StandaloneException("'" + text + "' is no port number");
    }
}
