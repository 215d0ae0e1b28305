package org.harnesslearning.solver.catalog;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The package index and certificates that pip on this machine uses: environment variables before the user's
 * configuration file before the machine's (pip's documentation, "Configuration").
 */
record PipSettings(URI index, @Nullable String certificates) {
    private static final String DEFAULT_INDEX = "https://pypi.org/simple";

    static PipSettings of(Map<String, String> environment, Path home) {
        Map<String, String> settings = new HashMap<>();
        List<Path> files = new ArrayList<>();
        files.add(Path.of("/etc/xdg/pip/pip.conf"));
        files.add(Path.of("/etc/pip.conf"));
        files.add(home.resolve(".pip/pip.conf"));
        String xdg = environment.getOrDefault("XDG_CONFIG_HOME", "");
        files.add((xdg.isBlank() ? home.resolve(".config") : Path.of(xdg)).resolve("pip/pip.conf"));
        String named = environment.getOrDefault("PIP_CONFIG_FILE", "");
        if (!named.isBlank()) {
            files.add(Path.of(named));
        }
        for (Path file : files) {
            if (Files.isRegularFile(file)) {
                read(file, settings);
            }
        }
        String index = environment.getOrDefault("PIP_INDEX_URL", settings.getOrDefault("index-url", DEFAULT_INDEX));
        return new PipSettings(URI.create(index.endsWith("/") ? index : index + "/"), settings.get("cert"));
    }

    private static void read(Path file, Map<String, String> settings) {
        try {
            String section = "";
            for (String raw : Files.readAllLines(file)) {
                String line = raw.strip();
                if (line.startsWith("[")) {
                    section = line.replaceAll("[\\[\\]]", "").strip();
                } else if (!line.startsWith("#") && !line.startsWith(";") && line.contains("=")) {
                    if (section.equals("global") || section.equals("download")) {
                        String key =
                                line.substring(0, line.indexOf('=')).strip().replace('_', '-');
                        settings.put(key, line.substring(line.indexOf('=') + 1).strip());
                    }
                }
            }
        } catch (IOException e) {
            throw new FetchException(file + " cannot be read: " + e.getMessage(), e);
        }
    }
}
