package org.harnesslearning.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The whole platform as a process of its own, without a model. */
@RequiresDocker
@RequiresPostgres
class StandaloneApplicationTest {
    private static final long PATIENCE_S = 120;

    @TempDir
    Path folder;

    @Test
    void starts_serves_refuses_a_second_start_and_stops_cleanly() throws Exception {
        Process platform = start();
        try {
            String url = readyUrl(platform);
            String key = Files.readString(folder.resolve("admin-key")).strip();
            assertThat(status(url + "/readyz", "")).isEqualTo(200);
            for (String path : List.of("/models", "/adaptations", "/tasks", "/keys")) {
                assertThat(status(url + path, key)).as(path).isEqualTo(200);
                assertThat(status(url + path, "hl_wrong")).as(path).isEqualTo(401);
            }
            assertThat(folder.resolve("ready")).hasContent(url + "\n");
            assertThat(folder.resolve("logs/harness.log"))
                    .content()
                    .contains("gateway")
                    .doesNotContain(key);

            Process second = start();
            assertThat(second.waitFor(PATIENCE_S, TimeUnit.SECONDS)).isTrue();
            assertThat(second.exitValue()).isEqualTo(3);
            assertThat(new String(second.getInputStream().readAllBytes()))
                    .contains("is in use by process " + platform.pid());
            assertThat(status(url + "/livez", "")).isEqualTo(200);

            platform.destroy();
            assertThat(platform.waitFor(PATIENCE_S, TimeUnit.SECONDS)).isTrue();
            assertThat(folder.resolve("ready")).doesNotExist();
            assertThat(folder.resolve("postgres/data/postmaster.pid")).doesNotExist();
        } finally {
            platform.destroyForcibly().waitFor();
        }
    }

    private Process start() throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                StandaloneApplication.class.getName()));
        command.addAll(List.of("--data", folder.toString(), "--port", "0", "--set", "solver.discover=false"));
        return new ProcessBuilder(command)
                .directory(SharedData.root().toFile())
                .redirectErrorStream(true)
                .start();
    }

    private static String readyUrl(Process platform) throws IOException {
        StringBuilder output = new StringBuilder();
        BufferedReader lines = platform.inputReader();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            output.append(line).append('\n');
            if (line.startsWith("[standalone] ready")) {
                return line.substring(line.indexOf("http://"));
            }
        }
        throw new AssertionError("the platform did not start:\n" + output);
    }

    private static int status(String url, String key) throws Exception {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(url))
                    .header("Authorization", "Bearer " + key)
                    .build();
            return client.send(request, BodyHandlers.discarding()).statusCode();
        }
    }
}
