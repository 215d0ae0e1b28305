package org.harnesslearning.compose;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.testing.SharedData;

/** Commands of this machine. */
final class Shell {
    private Shell() {}

    /** How a command ended. */
    record Ended(int code, String output, String errors) {}

    /** Runs a command in the checkout's root. */
    static Ended run(Duration most, Map<String, String> environment, List<String> command) {
        try {
            Path output = Files.createTempFile("command", ".out");
            Path errors = Files.createTempFile("command", ".err");
            try {
                ProcessBuilder builder = new ProcessBuilder(command)
                        .directory(SharedData.root().toFile())
                        .redirectInput(Path.of("/dev/null").toFile())
                        .redirectOutput(output.toFile())
                        .redirectError(errors.toFile());
                builder.environment().putAll(environment);
                Process process = builder.start();
                if (!process.waitFor(most.toMillis(), TimeUnit.MILLISECONDS)) {
                    process.descendants().forEach(ProcessHandle::destroyForcibly);
                    process.destroyForcibly();
                    throw new AssertionError(
                            command + " takes longer than " + most + ":\n" + text(output) + text(errors));
                }
                return new Ended(process.exitValue(), text(output), text(errors));
            } finally {
                Files.deleteIfExists(output);
                Files.deleteIfExists(errors);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /** The output of a command that has to succeed. */
    static String output(Duration most, Map<String, String> environment, List<String> command) {
        Ended ended = run(most, environment, command);
        if (ended.code() != 0) {
            throw new AssertionError(command + " ended with " + ended.code() + ":\n" + ended.output() + ended.errors());
        }
        return ended.output();
    }

    private static String text(Path file) throws IOException {
        return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    }
}
