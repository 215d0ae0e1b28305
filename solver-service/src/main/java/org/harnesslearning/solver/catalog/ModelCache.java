package org.harnesslearning.solver.catalog;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** The folder of fetched models: {@code <root>/models/<name>/<name>.gguf}. */
public record ModelCache(Path root) {
    /**
     * The user's cache: {@code HARNESS_CACHE}, else {@code $XDG_CACHE_HOME/harness-learning}, else {@code
     * ~/.cache/harness-learning}.
     */
    public static ModelCache of(Map<String, String> environment) {
        String own = environment.getOrDefault("HARNESS_CACHE", "");
        if (!own.isBlank()) {
            return new ModelCache(Path.of(own));
        }
        String xdg = environment.getOrDefault("XDG_CACHE_HOME", "");
        Path base = xdg.isBlank() ? Path.of(System.getProperty("user.home"), ".cache") : Path.of(xdg);
        return new ModelCache(base.resolve("harness-learning"));
    }

    /** The model's own folder. */
    public Path folder(String name) {
        return root.resolve("models").resolve(name);
    }

    /** The model's file, whether it is there or not. */
    public Path file(String name) {
        return folder(name).resolve(name + ".gguf");
    }

    /** Whether the model has been fetched; files get their name only after their hash was verified. */
    public boolean has(String name) {
        return Files.isRegularFile(file(name));
    }
}
