package org.harnesslearning.executor.sandbox;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Names of the images that sandboxes start from; builds them by their scripts where they are missing. */
public final class ImageBuild {
    private ImageBuild() {}

    /**
     * Name of an image.
     *
     * @param image name from the settings; null: run the script, which builds the image where it is missing
     * @param script prints the image's name as the last line of its standard output; a relative path is looked up in the
     *     working directory and then in the folders above it
     * @param timeout most time for the script
     * @throws DockerUnavailableException with what to do when there is no such image
     */
    public static String resolve(
            DockerEngine engine, @Nullable String image, Path script, Duration timeout, String setting) {
        if (image != null && !image.isBlank()) {
            if (!engine.hasImage(image)) {
                throw new DockerUnavailableException(
                        "The image " + image + " of the setting " + setting + " is not at the Docker engine; build it"
                                + " with " + script + " or pull it",
                        null);
            }
            return image;
        }
        Path found = find(script);
        if (found == null) {
            throw new DockerUnavailableException(
                    "Neither the setting " + setting + " names an image, nor is there a script "
                            + script.toAbsolutePath() + " that builds it",
                    null);
        }
        try {
            Path output = Files.createTempFile("image-build", ".out");
            Path errors = Files.createTempFile("image-build", ".err");
            try {
                ProcessBuilder build =
                        new ProcessBuilder("bash", found.toAbsolutePath().toString());
                String host = engine.dockerHost();
                if (host != null) {
                    build.environment().put("DOCKER_HOST", host);
                }
                Process process = build.redirectInput(ProcessBuilder.Redirect.from(
                                Path.of("/dev/null").toFile()))
                        .redirectOutput(output.toFile())
                        .redirectError(errors.toFile())
                        .start();
                if (!process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
                    process.descendants().forEach(ProcessHandle::destroyForcibly);
                    process.destroyForcibly();
                    throw failure(script, "takes longer than " + timeout.toMinutes() + " minutes", errors);
                }
                List<String> lines = Files.readAllLines(output);
                if (process.exitValue() != 0 || lines.isEmpty()) {
                    throw failure(script, "failed with exit code " + process.exitValue(), errors);
                }
                return lines.getLast().strip();
            } finally {
                Files.deleteIfExists(output);
                Files.deleteIfExists(errors);
            }
        } catch (IOException e) {
            throw new DockerUnavailableException("The image script " + script + " can't be run", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new DockerUnavailableException("The image script " + script + " was interrupted", e);
        }
    }

    private static @Nullable Path find(Path script) {
        for (Path folder = Path.of("").toAbsolutePath(); folder != null; folder = folder.getParent()) {
            Path candidate = folder.resolve(script);
            if (Files.isRegularFile(candidate)) {
                return candidate;
            }
        }
        return null;
    }

    private static DockerUnavailableException failure(Path script, String what, Path errors) throws IOException {
        String text = new String(Files.readAllBytes(errors), StandardCharsets.UTF_8);
        String tail = text.substring(Math.max(0, text.length() - 2000));
        return new DockerUnavailableException("The image script " + script + " " + what + ":\n" + tail, null);
    }
}
