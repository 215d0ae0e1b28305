package org.harnesslearning.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The tools that check Kubernetes manifests and monitoring rules. */
public final class CheckTools {
    private static final class Holder {
        static final Result FETCHED =
                run(List.of("bash", SharedData.root().resolve("k8s/tools.sh").toString()), SharedData.root());
    }

    private CheckTools() {}

    /**
     * What a program did.
     *
     * @param output standard output
     * @param errors standard error
     */
    public record Result(int exitCode, String output, String errors) {}

    static boolean present() {
        return Holder.FETCHED.exitCode() == 0;
    }

    static String problem() {
        return Holder.FETCHED.errors();
    }

    /** Folder with {@code kubectl}, {@code promtool} and {@code schemas}. */
    public static Path folder() {
        return Path.of(Holder.FETCHED.output().strip());
    }

    /** Runs {@code kubectl} or {@code promtool}. */
    public static Result run(String tool, Path directory, String... arguments) {
        List<String> command = new ArrayList<>(List.of(folder().resolve(tool).toString()));
        command.addAll(List.of(arguments));
        return run(command, directory);
    }

    private static Result run(List<String> command, Path directory) {
        try {
            Path errors = Files.createTempFile("tool", ".err");
            try {
                Process process = new ProcessBuilder(command)
                        .directory(directory.toFile())
                        .redirectInput(Path.of("/dev/null").toFile())
                        .redirectError(errors.toFile())
                        .start();
                String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                if (!process.waitFor(5, TimeUnit.MINUTES)) {
                    process.destroyForcibly();
                    throw new IllegalStateException(command + " does not end");
                }
                return new Result(process.exitValue(), output, Files.readString(errors));
            } finally {
                Files.deleteIfExists(errors);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }
}
