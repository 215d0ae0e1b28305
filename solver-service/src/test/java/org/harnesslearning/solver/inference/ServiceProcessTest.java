package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.solver.SolverApplication;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The service as a process of its own, with a fixed Java heap: ten thousand calls, then a signal to end. */
@RequiresModel
@Tag("long")
class ServiceProcessTest {
    private static final int WARM_UP = 2_000;
    private static final int MEASURED = 10_000;
    private static final int CALLERS = 8;

    @TempDir
    Path folder;

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @Test
    void ten_thousand_calls_leave_memory_flat_and_a_signal_ends_streams_in_order() throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        URI base = URI.create("http://127.0.0.1:" + port);
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xms256m",
                        "-Xmx256m",
                        "-XX:+AlwaysPreTouch",
                        "-XX:+UseSerialGC",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        SolverApplication.class.getName(),
                        "--server.port=" + port,
                        "--server.address=127.0.0.1",
                        "--platform.internal-secret=" + SolverServer.SECRET,
                        "--logging.level.root=WARN",
                        "--solver.discover=false",
                        "--solver.models[0].name=solver",
                        "--solver.models[0].kind=local",
                        "--solver.models[0].checkpoint=" + SharedData.model("smollm2-135m"),
                        "--solver.preload=solver",
                        "--solver.drain-timeout=1s")
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("log").toFile())
                .start();
        try {
            awaitReady(process, base);
            calls(base, WARM_UP);
            long before = resident(process);
            calls(base, MEASURED);
            long after = resident(process);
            System.out.printf(
                    "resident memory after %d and %d more calls: %d, %d KiB%n", WARM_UP, MEASURED, before, after);
            // Compiled code and metadata still grow a little; a leak of 5 KiB a call would not pass.
            assertThat(after - before).isLessThan(48 * 1024);

            CompletableFuture<HttpResponse<String>> stream = client.sendAsync(
                    completion(base, "\"max_tokens\": 3000, \"ignore_eos\": true, \"stream\": true"),
                    HttpResponse.BodyHandlers.ofString());
            Await.until(() -> meters(base).contains("solver_requests_running{model=\"solver\"} 1.0"));
            process.destroy(); // SIGTERM
            assertThat(stream.get(60, TimeUnit.SECONDS).body())
                    .contains("\"finish_reason\":\"cancelled\"")
                    .endsWith("data: [DONE]\n\n");
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isEqualTo(143);
        } finally {
            process.destroyForcibly();
        }
    }

    private void awaitReady(Process process, URI base) throws Exception {
        for (int tenths = 0; tenths < 1800 && process.isAlive(); tenths++) {
            if (answers(base.resolve("/readyz"))) {
                return;
            }
            Thread.sleep(100);
        }
        throw new AssertionError("the service is not ready: " + Files.readString(folder.resolve("log")));
    }

    private HttpRequest completion(URI base, String fields) {
        return HttpRequest.newBuilder(base.resolve("/v1/completions"))
                .header("X-Internal-Secret", SolverServer.SECRET)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(
                        "{\"model\": \"solver\", \"prompt\": \"Once upon a time\", " + fields + "}"))
                .build();
    }

    private void calls(URI base, int count) throws Exception {
        try (ExecutorService pool = Executors.newFixedThreadPool(CALLERS)) {
            List<Future<Integer>> callers = new ArrayList<>();
            for (int caller = 0; caller < CALLERS; caller++) {
                int first = caller;
                callers.add(pool.submit(() -> {
                    int done = 0;
                    for (int i = first; i < count; i += CALLERS) {
                        String fields = "\"max_tokens\": " + (1 + i % 2) + ", \"seed\": " + i
                                + (i % 3 == 0 ? ", \"logprobs\": 3" : "") + (i % 5 == 0 ? ", \"stream\": true" : "")
                                + (i % 7 == 0 ? ", \"repetition_penalty\": 1.1" : "");
                        HttpResponse<String> response =
                                client.send(completion(base, fields), HttpResponse.BodyHandlers.ofString());
                        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
                        done++;
                    }
                    return done;
                }));
            }
            int done = 0;
            for (Future<Integer> caller : callers) {
                done += caller.get();
            }
            assertThat(done).isEqualTo(count);
        }
    }

    private boolean answers(URI uri) {
        try {
            return client.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.discarding())
                            .statusCode()
                    == 200;
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private String meters(URI base) {
        try {
            return client.send(
                            HttpRequest.newBuilder(base.resolve("/metrics")).build(),
                            HttpResponse.BodyHandlers.ofString())
                    .body();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** KiB of the process in memory that belong to no file. */
    private static long resident(Process process) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/" + process.pid() + "/status"))) {
            if (line.startsWith("RssAnon:")) {
                return Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        throw new IOException("no RssAnon");
    }
}
