package org.harnesslearning.standalone.cli;

import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * What a command runs in.
 *
 * @param out where results go
 * @param terminal whether {@code out} is a terminal
 * @param environment environment variables
 * @param nanoTime a clock that never runs backwards
 */
record Surroundings(PrintStream out, boolean terminal, Map<String, String> environment, LongSupplier nanoTime) {
    /** Options that name the platform. */
    static final Set<String> OPTIONS = Set.of("url", "key");

    /** The platform that the options name: {@code --url}, else HARNESS_URL, else the one that runs on this data folder. */
    Api connect(Arguments arguments) {
        String url = arguments
                .text("url")
                .or(() -> Optional.ofNullable(environment.get("HARNESS_URL")))
                .or(() -> read("ready"))
                .orElseThrow(() -> new CommandException(
                        ExitCode.UNREACHABLE,
                        "no platform runs on " + data() + "; start one with ./harness up or name one with --url"));
        String key = arguments
                .text("key")
                .or(() -> Optional.ofNullable(environment.get("HARNESS_KEY")))
                .or(() -> read("admin-key"))
                .orElse(null);
        return new Api(url, key);
    }

    /** The data folder. */
    Path data() {
        return Path.of(environment.getOrDefault("HARNESS_DATA", ".harness"));
    }

    private Optional<String> read(String name) {
        Path file = data().resolve(name);
        try {
            return Files.isRegularFile(file)
                    ? Optional.of(Files.readString(file, StandardCharsets.UTF_8).strip())
                    : Optional.empty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
