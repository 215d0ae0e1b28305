package org.harnesslearning.solver.inference;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.solver.SolverApplication;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import tools.jackson.databind.JsonNode;

/** The real service on a free port. */
final class SolverServer implements AutoCloseable {
    static final String SECRET = "secret-of-this-test";

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    final ServletWebServerApplicationContext context;

    SolverServer(String... settings) {
        List<String> arguments = new ArrayList<>(List.of(
                "--spring.config.name=solver-service",
                "--server.port=0",
                "--server.address=127.0.0.1",
                "--logging.level.root=WARN",
                "--platform.internal-secret=" + SECRET));
        arguments.addAll(List.of(settings));
        context = (ServletWebServerApplicationContext)
                SpringApplication.run(SolverApplication.class, arguments.toArray(String[]::new));
    }

    URI base() {
        return URI.create("http://127.0.0.1:" + context.getWebServer().getPort());
    }

    HttpResponse<String> post(String path, String body) {
        return send(HttpRequest.newBuilder(base().resolve(path))
                .header("X-Internal-Secret", SECRET)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body)));
    }

    HttpResponse<String> get(String path) {
        return send(HttpRequest.newBuilder(base().resolve(path)).header("X-Internal-Secret", SECRET));
    }

    HttpResponse<String> send(HttpRequest.Builder request) {
        try {
            return client.send(request.timeout(Duration.ofSeconds(60)).build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Posts to the chat endpoint; the answer must be 200. */
    JsonNode chat(String body) {
        HttpResponse<String> response = post("/v1/chat/completions", body);
        if (response.statusCode() != 200) {
            throw new AssertionError(response.statusCode() + ": " + response.body());
        }
        return Json.read(response.body(), JsonNode.class);
    }

    @Override
    public void close() {
        context.close();
    }
}
