package org.harnesslearning.standalone.cli;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;

/** The public API over HTTP. Errors come as {@link CommandException} with the problem's code and detail. */
final class Api implements AutoCloseable {
    private static final Duration ANSWER = Duration.ofSeconds(60);

    private final HttpClient client = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(10))
            .build();
    private final String base;
    private final @Nullable String key;

    /** @param base such as {@code http://127.0.0.1:8080} */
    Api(String base, @Nullable String key) {
        this.base = base.endsWith("/") ? base.substring(0, base.length() - 1) : base;
        this.key = key;
        if (!this.base.startsWith("http://") && !this.base.startsWith("https://")) {
            throw CommandException.usage("'" + base + "' is no http or https address");
        }
    }

    String base() {
        return base;
    }

    /** The resource at a path. */
    JsonNode get(String path) {
        return json(send(request(path).GET(), ANSWER));
    }

    /** The text at a path, whatever its form. */
    String text(String path, String accept) {
        return send(request(path).header("Accept", accept).GET(), ANSWER).body();
    }

    /**
     * Posts a body.
     *
     * @param waitS value of {@code Prefer: wait}, in seconds
     */
    JsonNode post(String path, Object body, int waitS) {
        return json(send(
                request(path)
                        .header("Content-Type", "application/json")
                        .header("Prefer", "wait=" + waitS)
                        .POST(BodyPublishers.ofString(Json.write(body), StandardCharsets.UTF_8)),
                ANSWER.plusSeconds(waitS)));
    }

    /** Puts a zip. */
    JsonNode putZip(String path, byte[] zip) {
        return json(send(
                request(path).header("Content-Type", "application/zip").PUT(BodyPublishers.ofByteArray(zip)), ANSWER));
    }

    /** Opens a stream of events after the one named; the caller closes the stream. */
    InputStream events(String path, String lastEventId) throws IOException {
        HttpRequest.Builder request = request(path).header("Accept", "text/event-stream");
        if (!lastEventId.isEmpty()) {
            request.header("Last-Event-ID", lastEventId);
        }
        try {
            HttpResponse<InputStream> answer = client.send(request.build(), BodyHandlers.ofInputStream());
            if (answer.statusCode() != 200) {
                answer.body().close();
                throw new IOException("the event stream answers " + answer.statusCode());
            }
            return answer.body();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    private HttpRequest.Builder request(String path) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path));
        if (key != null) {
            request.header("Authorization", "Bearer " + key);
        }
        return request;
    }

    private HttpResponse<String> send(HttpRequest.Builder request, Duration timeout) {
        try {
            HttpResponse<String> answer =
                    client.send(request.timeout(timeout).build(), BodyHandlers.ofString(StandardCharsets.UTF_8));
            if (answer.statusCode() >= 400) {
                throw problem(answer);
            }
            return answer;
        } catch (IOException e) {
            throw new CommandException(
                    ExitCode.UNREACHABLE,
                    "no platform answers at " + base + " (" + e
                            + "); start one with ./harness up or name one with --url");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommandException(ExitCode.FAILED, "interrupted");
        }
    }

    private static JsonNode json(HttpResponse<String> answer) {
        if (answer.body().isBlank()) {
            return JsonNodeFactory.instance.objectNode();
        }
        try {
            return Json.mapper().readTree(answer.body());
        } catch (JacksonException e) {
            throw new CommandException(ExitCode.UNREACHABLE, answer.uri() + " does not answer with JSON");
        }
    }

    private static CommandException problem(HttpResponse<String> answer) {
        int status = answer.statusCode();
        StringBuilder message = new StringBuilder();
        try {
            JsonNode problem = Json.mapper().readTree(answer.body());
            message.append(problem.path("code").asString("status " + status))
                    .append(": ")
                    .append(problem.path("detail").asString(""));
            for (JsonNode error : problem.path("errors")) {
                message.append("\n  ")
                        .append(error.path("pointer").asString(""))
                        .append(": ")
                        .append(error.path("detail").asString(""));
            }
            message.append("\n  request id ").append(problem.path("request_id").asString("-"));
        } catch (JacksonException e) {
            message.append("the server answers ").append(status);
        }
        ExitCode code = switch (status) {
            case 400, 409, 413, 415, 422 -> ExitCode.USAGE;
            case 401, 403, 429, 503 -> ExitCode.UNREACHABLE;
            default -> ExitCode.FAILED;
        };
        return new CommandException(code, message.toString());
    }

    @Override
    public void close() {
        client.shutdownNow();
    }
}
