package org.harnesslearning.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Asks a running platform over its public API, as the holder of one key.
 *
 * @param url of the gateway, without a slash at the end
 */
public record PlatformApi(String url, String key) {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    /** One for all tests of the process; idle connections to platforms that ended go by themselves. */
    private static final HttpClient CLIENT =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    /** The same platform, asked with another key. */
    public PlatformApi with(String otherKey) {
        return new PlatformApi(url, otherKey);
    }

    /** The body of a successful GET. */
    public JsonNode get(String path) throws IOException, InterruptedException {
        return read(send("GET", path, null));
    }

    /** The body of a successful POST of JSON. */
    public JsonNode post(String path, Object body, String... headers) throws IOException, InterruptedException {
        return read(send("POST", path, body, headers));
    }

    private static JsonNode read(HttpResponse<String> answer) {
        assertThat(answer.statusCode())
                .as("%s: %s", answer.uri(), answer.body())
                .isBetween(200, 299);
        return JSON.readTree(answer.body());
    }

    /**
     * Asks and takes any answer.
     *
     * @param body null for none, else sent as JSON
     * @param headers names and values in turn
     */
    public HttpResponse<String> send(String method, String path, @Nullable Object body, String... headers)
            throws IOException, InterruptedException {
        BodyPublisher sent =
                body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(JSON.writeValueAsString(body));
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(url + path)).method(method, sent);
        if (body != null) {
            request.header("Content-Type", "application/json");
        }
        if (headers.length > 0) {
            request.headers(headers);
        }
        return send(request);
    }

    /** Sends a request of any form with the key. */
    public HttpResponse<String> send(HttpRequest.Builder request) throws IOException, InterruptedException {
        return CLIENT.send(request.header("Authorization", "Bearer " + key).build(), BodyHandlers.ofString());
    }
}
