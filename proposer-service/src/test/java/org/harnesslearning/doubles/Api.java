package org.harnesslearning.doubles;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.Predicate;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.databind.JsonNode;

/** The proposer's HTTP API as the gateway calls it. */
final class Api {
    private final HttpClient client = HttpClient.newHttpClient();
    private final String base;

    Api(String base) {
        this.base = base;
    }

    /** An answer. */
    record Answer(int status, String body, HttpResponse<String> response) {
        JsonNode json() {
            return Json.mapper().readTree(body);
        }

        String header(String name) {
            return response.headers().firstValue(name).orElse("");
        }
    }

    Answer get(String path, String... headers) {
        return send("GET", path, new byte[0], headers);
    }

    Answer post(String path, String body, String... headers) {
        return send("POST", path, body.getBytes(StandardCharsets.UTF_8), headers);
    }

    Answer send(String method, String path, byte[] body, String... headers) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path))
                .timeout(Duration.ofSeconds(90))
                .method(method, HttpRequest.BodyPublishers.ofByteArray(body))
                .setHeader("X-Internal-Secret", Doubles.SECRET)
                .setHeader("X-Key-Id", "key_test")
                .setHeader("X-Key-Scope", "run");
        if (body.length > 0) {
            request.setHeader("Content-Type", "application/json");
        }
        for (int i = 0; i < headers.length; i += 2) {
            request.setHeader(headers[i], headers[i + 1]);
        }
        try {
            HttpResponse<String> response = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
            return new Answer(response.statusCode(), response.body(), response);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /** Waits until an adaptation is as wanted. */
    JsonNode await(String id, Predicate<JsonNode> wanted) {
        return awaitAt("/adaptations/" + id, wanted);
    }

    /** Waits until a resource is as wanted. */
    JsonNode awaitAt(String path, Predicate<JsonNode> wanted) {
        long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        JsonNode last = null;
        while (System.nanoTime() < end) {
            last = get(path).json();
            if (wanted.test(last)) {
                return last;
            }
            try {
                Thread.sleep(30);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            }
        }
        throw new AssertionError("not reached in time; last seen: " + last);
    }

    static boolean ended(JsonNode run) {
        return switch (run.get("state").asString()) {
            case "succeeded", "failed", "cancelled" -> true;
            default -> false;
        };
    }
}
