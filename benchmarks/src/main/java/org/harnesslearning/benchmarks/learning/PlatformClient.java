package org.harnesslearning.benchmarks.learning;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;

/**
 * The public API, as JSON. A call that meets a full or starting platform, or a broken connection, is made again for a
 * while; a POST carries an Idempotency-Key, so that this orders nothing twice.
 */
final class PlatformClient implements AutoCloseable {
    private static final Set<Integer> AGAIN = Set.of(429, 502, 503, 504);
    private static final Duration ANSWER = Duration.ofMinutes(5);
    private static final int TRIES = 30;
    private static final int LONGEST_PAUSE_S = 5;

    private final HttpClient client = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(10))
            .build();
    private final String base;
    private final String key;

    PlatformClient(String base, String key) {
        this.base = base.replaceFirst("/+$", "");
        this.key = key;
    }

    /** An answer that is no success. */
    static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final int status;

        Refused(int status, String message) {
            super(message);
            this.status = status;
        }

        int status() {
            return status;
        }
    }

    JsonNode get(String path) {
        return json(send(request(path).GET()));
    }

    /** The same without a second try: for what may be read later as well. */
    JsonNode once(String path) {
        return json(send(request(path).GET(), 1));
    }

    /** The resource at a path, if there is one. */
    Optional<JsonNode> find(String path) {
        try {
            return Optional.of(get(path));
        } catch (Refused e) {
            if (e.status() == 404) {
                return Optional.empty();
            }
            throw e;
        }
    }

    byte[] bytes(String path) {
        return send(request(path).GET()).body();
    }

    /**
     * Orders something and does not wait for it.
     *
     * @param idempotencyKey the same key and body give the same thing again
     */
    JsonNode post(String path, Object body, String idempotencyKey) {
        return json(send(request(path)
                .header("Content-Type", "application/json")
                .header("Prefer", "wait=0")
                .header("Idempotency-Key", idempotencyKey)
                .POST(BodyPublishers.ofString(Json.write(body), StandardCharsets.UTF_8))));
    }

    /** Has a run stop, pause or go on; one that is in another state already is left alone. */
    void control(String path) {
        try {
            send(request(path).header("Content-Type", "application/json").POST(BodyPublishers.noBody()));
        } catch (Refused e) {
            if (e.status() != 409) {
                throw e;
            }
        }
    }

    void delete(String path) {
        send(request(path).DELETE());
    }

    JsonNode put(String path, byte[] body, String contentType) {
        return json(send(request(path).header("Content-Type", contentType).PUT(BodyPublishers.ofByteArray(body))));
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(base + path)).timeout(ANSWER).header("Authorization", "Bearer " + key);
    }

    private HttpResponse<byte[]> send(HttpRequest.Builder builder) {
        return send(builder, TRIES);
    }

    private HttpResponse<byte[]> send(HttpRequest.Builder builder, int most) {
        HttpRequest request = builder.build();
        for (int tries = 1; ; tries++) {
            String failure;
            long pauseS = Math.min(tries, LONGEST_PAUSE_S);
            try {
                HttpResponse<byte[]> answer = client.send(request, BodyHandlers.ofByteArray());
                if (answer.statusCode() < 400) {
                    return answer;
                }
                failure = problem(answer);
                if (!AGAIN.contains(answer.statusCode()) || tries >= most) {
                    throw new Refused(answer.statusCode(), request.method() + " " + request.uri() + ": " + failure);
                }
                pauseS = Math.min(
                        answer.headers().firstValueAsLong("Retry-After").orElse(pauseS), LONGEST_PAUSE_S);
            } catch (IOException e) {
                if (tries >= most) {
                    throw new LearnException("no platform answers at " + base + ": " + e, e);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new LearnException("interrupted", e);
            }
            pause(Duration.ofSeconds(Math.max(1, pauseS)));
        }
    }

    static void pause(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LearnException("interrupted", e);
        }
    }

    private static JsonNode json(HttpResponse<byte[]> answer) {
        return answer.body().length == 0
                ? JsonNodeFactory.instance.objectNode()
                : Json.mapper().readTree(answer.body());
    }

    private static String problem(HttpResponse<byte[]> answer) {
        String text = new String(answer.body(), StandardCharsets.UTF_8);
        try {
            JsonNode problem = Json.mapper().readTree(text);
            StringBuilder message = new StringBuilder(String.format(
                    Locale.ROOT,
                    "%d %s %s",
                    answer.statusCode(),
                    problem.path("code").asString(""),
                    problem.path("detail").asString("")));
            problem.path("errors")
                    .forEach(error -> message.append("; ")
                            .append(error.path("pointer").asString(""))
                            .append(' ')
                            .append(error.path("detail").asString("")));
            return message.toString();
        } catch (JacksonException e) {
            return answer.statusCode() + " " + text;
        }
    }

    /** Whether a run has come to its end. */
    static boolean ended(@Nullable JsonNode run) {
        return run != null
                && Set.of("succeeded", "failed", "cancelled")
                        .contains(run.path("state").asString(""));
    }

    @Override
    public void close() {
        client.shutdownNow();
    }
}
