package org.harnesslearning.executor.broker;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.executor.kit.KitSettings;
import org.harnesslearning.executor.kit.Tool;
import org.harnesslearning.executor.sandbox.Broker;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/**
 * Calls tools over HTTP. Only the operator's own addresses are called: redirects are not followed, and arguments never
 * become part of an address but as encoded values of its query. Answers are bounded in time and size.
 *
 * <table>
 * <caption>What an answer means</caption>
 * <tr><td>2xx that is what the tool is to answer with</td><td>the result</td></tr>
 * <tr><td>2xx that is too long; 4xx, unless below</td><td>an exception in the harness</td></tr>
 * <tr><td>408, 425, 429, 5xx, time-out, broken connection</td><td>another try, then the tool is unavailable</td></tr>
 * <tr><td>401, 403, 407, 1xx, 3xx, 2xx of another form</td><td>the tool is unavailable: nothing that a harness did</td></tr>
 * </table>
 */
final class ToolClient implements AutoCloseable {
    private static final int ERROR_CHARS = 1000;
    private static final long MOST_RETRY_AFTER_S = 600;

    private final HttpClient client = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(Duration.ofSeconds(5))
            .build();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final BrokerSettings settings;

    ToolClient(BrokerSettings settings) {
        this.settings = settings;
    }

    /**
     * What was sent and came back.
     *
     * @param status of the last answer; null without one
     * @param tries requests
     * @param bytes of the last answer
     */
    record Sent(@Nullable Integer status, int tries, long bytes) {}

    /** An answer for the harness, with what it cost. */
    record Answered(Broker.ToolAnswer answer, Sent sent) {}

    private record Raw(
            int status, byte[] body, boolean cut, @Nullable String retryAfter) {}

    /**
     * One call.
     *
     * @param idempotencyKey the same for all tries
     * @throws ToolUnavailableException when the tool gives no answer after all tries
     */
    Answered call(Tool tool, JsonNode arguments, String idempotencyKey) throws InterruptedException {
        HttpRequest request = request(tool, arguments, idempotencyKey);
        long wait = settings.backoff().toMillis();
        for (int tried = 1; ; tried++) {
            String failure;
            Raw raw = null;
            try {
                raw = send(tool, request);
                failure = retryable(raw.status()) ? "it answers with status " + raw.status() : null;
            } catch (TimeoutException e) {
                failure = "it gave no answer in " + tool.settings().timeout().toMillis() + " ms";
            } catch (IOException e) {
                failure = "the connection failed (" + e.getClass().getSimpleName() + ")";
            }
            Sent sent = raw == null ? new Sent(null, tried, 0) : new Sent(raw.status(), tried, raw.body().length);
            if (failure == null && raw != null) {
                return new Answered(answer(tool, raw, sent), sent);
            }
            if (tried >= tool.settings().attempts()) {
                throw unavailable(tool, failure + ", in " + tried + (tried == 1 ? " try" : " tries"), sent);
            }
            long asked = raw == null ? 0 : retryAfterMs(raw.retryAfter());
            Thread.sleep(Math.min(Math.max(wait, asked), settings.maxBackoff().toMillis()));
            wait *= 2;
        }
    }

    private static boolean retryable(int status) {
        return status >= 500 || status == 408 || status == 425 || status == 429;
    }

    /** Seconds of a Retry-After; a date counts as none. */
    private static long retryAfterMs(@Nullable String header) {
        return header != null && header.matches("\\d{1,6}")
                ? Math.min(Long.parseLong(header), MOST_RETRY_AFTER_S) * 1000
                : 0;
    }

    private static ToolUnavailableException unavailable(Tool tool, @Nullable String reason, Sent sent) {
        return new ToolUnavailableException("The tool " + tool.name() + " is unavailable: " + reason, sent);
    }

    private static HttpRequest request(Tool tool, JsonNode arguments, String idempotencyKey) {
        KitSettings.Tool settings = tool.settings();
        HttpRequest.Builder builder = HttpRequest.newBuilder();
        switch (settings.method()) {
            case POST ->
                builder.uri(settings.url())
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofByteArray(
                                Json.mapper().writeValueAsBytes(arguments)));
            case GET -> builder.uri(withQuery(settings.url(), arguments)).GET();
        }
        tool.headers().forEach(builder::header);
        return builder.header("Accept", settings.answer().accept())
                .header("Idempotency-Key", idempotencyKey)
                .build();
    }

    private static URI withQuery(URI url, JsonNode arguments) {
        String query = arguments.properties().stream()
                .map(entry -> encoded(entry.getKey()) + "="
                        + encoded(
                                entry.getValue().isString()
                                        ? entry.getValue().stringValue()
                                        : Json.write(entry.getValue())))
                .collect(Collectors.joining("&"));
        return query.isEmpty() ? url : URI.create(url + "?" + query);
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    /** Status and body of one request, the body cut at one byte above the limit; all of it within the tool's time. */
    private Raw send(Tool tool, HttpRequest request) throws IOException, TimeoutException, InterruptedException {
        int most = (int) tool.settings().maxResponse().toBytes();
        Future<Raw> pending = threads.submit(() -> {
            HttpResponse<InputStream> response = client.send(request, HttpResponse.BodyHandlers.ofInputStream());
            try (InputStream body = response.body()) {
                byte[] bytes = body.readNBytes(most + 1);
                return new Raw(
                        response.statusCode(),
                        bytes,
                        bytes.length > most,
                        response.headers().firstValue("Retry-After").orElse(null));
            }
        });
        try {
            return pending.get(tool.settings().timeout().toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException failure) {
                throw failure;
            }
            throw new IllegalStateException("a call of the tool " + tool.name() + " failed", e.getCause());
        } finally {
            pending.cancel(true);
        }
    }

    private static Broker.ToolAnswer answer(Tool tool, Raw raw, Sent sent) {
        int status = raw.status();
        if (status == 401 || status == 403 || status == 407) {
            throw unavailable(tool, "it refuses the platform's credentials with status " + status, sent);
        }
        if (status < 200 || (status >= 300 && status < 400)) {
            throw unavailable(tool, "it answers with status " + status + ", and redirects are not followed", sent);
        }
        String text = tool.withoutSecrets(new String(raw.body(), StandardCharsets.UTF_8).replace('\0', '\uFFFD'));
        if (status >= 400) {
            String told = text.strip();
            return new Broker.ToolAnswer.Failed(
                    "http",
                    status,
                    "the tool " + tool.name() + " answered with status " + status
                            + (told.isEmpty() ? "" : ": " + told.substring(0, Math.min(told.length(), ERROR_CHARS))));
        }
        if (raw.cut()) {
            return new Broker.ToolAnswer.Failed(
                    "too_large",
                    status,
                    "the answer of the tool " + tool.name() + " is longer than "
                            + tool.settings().maxResponse().toBytes() + " bytes");
        }
        return switch (tool.offered().answer()) {
            case TEXT -> new Broker.ToolAnswer.Result(text, false);
            case JSON -> {
                try {
                    // Written anew: one value, with numbers and names that every reader takes.
                    yield new Broker.ToolAnswer.Result(Json.write(Json.mapper().readTree(text)), true);
                } catch (JacksonException e) {
                    throw unavailable(tool, "its answer is not JSON", sent);
                }
            }
        };
    }

    @Override
    public void close() {
        threads.shutdownNow();
        client.shutdownNow();
    }
}
