package org.harnesslearning.trainer.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Calls a service as the gateway does. */
public final class Http {
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String base;

    public Http(String base) {
        this.base = base;
    }

    /** An answer. */
    public record Answer(int status, String body, @Nullable String etag, byte[] bytes) {
        public JsonNode json() {
            return Json.read(body, JsonNode.class);
        }
    }

    public Answer get(String path, String... headers) {
        return send(HttpRequest.newBuilder().GET(), path, headers);
    }

    public Answer post(String path, Object body, String... headers) {
        return send(
                HttpRequest.newBuilder()
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(
                                body instanceof String text ? text : Json.write(body))),
                path,
                headers);
    }

    /** Puts bytes of a type at a path. */
    public Answer put(String path, byte[] body, String type) {
        return send(
                HttpRequest.newBuilder().header("Content-Type", type).PUT(HttpRequest.BodyPublishers.ofByteArray(body)),
                path);
    }

    public Answer delete(String path) {
        return send(HttpRequest.newBuilder().DELETE(), path);
    }

    private Answer send(HttpRequest.Builder request, String path, String... headers) {
        request.uri(URI.create(base + path))
                .header("X-Internal-Secret", "secret")
                .timeout(Duration.ofSeconds(90));
        for (int i = 0; i < headers.length; i += 2) {
            request.setHeader(headers[i], headers[i + 1]);
        }
        try {
            HttpResponse<byte[]> response = client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
            return new Answer(
                    response.statusCode(),
                    new String(response.body(), java.nio.charset.StandardCharsets.UTF_8),
                    response.headers().firstValue("etag").orElse(null),
                    response.body());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Asks until the resource is as wanted; at most a minute and a half. */
    public JsonNode await(String path, Predicate<JsonNode> wanted) {
        long end = System.nanoTime() + Duration.ofSeconds(90).toNanos();
        JsonNode last = null;
        while (System.nanoTime() < end) {
            try {
                last = get(path).json();
                if (wanted.test(last)) {
                    return last;
                }
            } catch (UncheckedIOException e) {
                // The service is not up yet.
            }
            LockSupport.parkNanos(10_000_000);
        }
        throw new AssertionError("not reached in time: " + last);
    }
}
