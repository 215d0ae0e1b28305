package org.harnesslearning.gateway.page;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.gateway.edge.Caller;
import org.harnesslearning.gateway.route.Upstream;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.stereotype.Component;
import org.springframework.web.util.UriComponentsBuilder;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** The public API, called for the one who looks at a page. */
@Component
final class Platform {
    /** Pages show a part of each answer. */
    private static final JsonMapper MAPPER = Json.mapper()
            .rebuild()
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .build();

    private final Upstream upstream;

    Platform(Upstream upstream) {
        this.upstream = upstream;
    }

    /**
     * Reads a resource.
     *
     * @param path with {@code {}} for each value, which is encoded
     */
    <T> T get(Caller caller, Class<T> type, String path, Object... values) {
        return read(
                upstream.call(caller, HttpMethod.GET, target(path, values), MediaType.APPLICATION_JSON, null, null),
                type);
    }

    /** Reads a resource with query parameters; null ones are left out. */
    <T> T get(Caller caller, Class<T> type, String path, Map<String, ? extends @Nullable Object> query) {
        return read(
                upstream.call(caller, HttpMethod.GET, target(path, query), MediaType.APPLICATION_JSON, null, null),
                type);
    }

    /** Reads a resource with named values in its path and query parameters. */
    <T> T get(
            Caller caller,
            Class<T> type,
            String path,
            Map<String, ?> values,
            Map<String, ? extends @Nullable Object> query) {
        String filled = UriComponentsBuilder.fromPath(path)
                .encode()
                .buildAndExpand(values)
                .toUri()
                .getRawPath();
        String parameters = target("", query).getRawQuery();
        return read(
                upstream.call(
                        caller,
                        HttpMethod.GET,
                        URI.create(parameters == null ? filled : filled + "?" + parameters),
                        MediaType.APPLICATION_JSON,
                        null,
                        null),
                type);
    }

    /** Reads a text. */
    String text(Caller caller, MediaType accept, String path, Object... values) {
        return new String(
                upstream.call(caller, HttpMethod.GET, target(path, values), accept, null, null),
                StandardCharsets.UTF_8);
    }

    /** Sends JSON. */
    <T> T post(Caller caller, Class<T> type, Object body, String path, Object... values) {
        return read(
                upstream.call(
                        caller,
                        HttpMethod.POST,
                        target(path, values),
                        MediaType.APPLICATION_JSON,
                        MediaType.APPLICATION_JSON,
                        Json.write(body).getBytes(StandardCharsets.UTF_8)),
                type);
    }

    /** Sends a text of another type with query parameters. */
    <T> T post(Caller caller, Class<T> type, MediaType sent, byte[] body, String path, Map<String, ?> query) {
        return read(
                upstream.call(caller, HttpMethod.POST, target(path, query), MediaType.APPLICATION_JSON, sent, body),
                type);
    }

    /** Asks for an action that takes no body. */
    void act(Caller caller, HttpMethod method, String path, Object... values) {
        upstream.call(caller, method, target(path, values), MediaType.APPLICATION_JSON, null, null);
    }

    private static <T> T read(byte[] body, Class<T> type) {
        try {
            return MAPPER.readValue(body, type);
        } catch (JacksonException e) {
            throw new PlatformException(ErrorCode.INTERNAL, "An answer of the platform can't be read", e);
        }
    }

    private static URI target(String path, Object... values) {
        String template = path;
        for (int i = 0; i < values.length; i++) {
            template = template.replaceFirst("\\{}", "{v" + i + "}");
        }
        return UriComponentsBuilder.fromPath(template)
                .encode()
                .buildAndExpand(values)
                .toUri();
    }

    private static URI target(String path, Map<String, ? extends @Nullable Object> query) {
        UriComponentsBuilder builder = UriComponentsBuilder.fromPath(path);
        query.forEach((name, value) -> {
            if (value != null && !value.toString().isEmpty()) {
                builder.queryParam(name, "{" + name + "}");
            }
        });
        return builder.encode().buildAndExpand(query).toUri();
    }
}
