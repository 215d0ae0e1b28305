package org.harnesslearning.testing;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds the folders that tests read: the repository's root and the data beside it, which is never part of it. */
public final class SharedData {
    private SharedData() {}

    /** Root of the checkout. */
    public static Path root() {
        String property = System.getProperty("harness.root");
        if (property != null && !property.isBlank()) {
            return Path.of(property);
        }
        Path path = Path.of("").toAbsolutePath();
        while (path != null && !Files.exists(path.resolve("mvnw"))) {
            path = path.getParent();
        }
        if (path == null) {
            throw new IllegalStateException("run the tests inside the checkout");
        }
        return path;
    }

    /** The shared folder: environment variable {@code HARNESS_SHARED}, else {@code ../shared} beside the root. */
    public static Optional<Path> shared() {
        String variable = System.getenv("HARNESS_SHARED");
        Path path = variable == null || variable.isBlank() ? root().resolveSibling("shared") : Path.of(variable);
        return Files.isDirectory(path) ? Optional.of(path) : Optional.empty();
    }

    /** The model cache: environment variable {@code HARNESS_CACHE}, else the user's cache folder. */
    public static Path cache() {
        String own = System.getenv("HARNESS_CACHE");
        if (own != null && !own.isBlank()) {
            return Path.of(own);
        }
        String xdg = System.getenv("XDG_CACHE_HOME");
        Path base = xdg == null || xdg.isBlank() ? Path.of(System.getProperty("user.home"), ".cache") : Path.of(xdg);
        return base.resolve("harness-learning");
    }

    /** A program on the path. */
    public static Optional<Path> program(String name) {
        String path = System.getenv("PATH");
        return Stream.of((path == null ? "" : path).split(File.pathSeparator))
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, name))
                .filter(Files::isExecutable)
                .findFirst();
    }

    /**
     * A tool of {@code python-tools.txt}, whether it exists or not: in the virtual environment that
     * {@code HARNESS_PYTHON_TOOLS} names, else in the cache's.
     */
    public static Path pythonTool(String name) {
        String own = System.getenv("HARNESS_PYTHON_TOOLS");
        Path folder = own == null || own.isBlank() ? cache().resolve("python-tools") : Path.of(own);
        return folder.resolve("bin").resolve(name);
    }

    /** A fetched model's file, whether it exists or not. */
    public static Path model(String name) {
        return cache().resolve("models").resolve(name).resolve(name + ".gguf");
    }
}
