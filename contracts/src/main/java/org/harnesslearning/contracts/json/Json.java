package org.harnesslearning.contracts.json;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tools.jackson.core.json.JsonWriteFeature;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.cfg.DateTimeFeature;
import tools.jackson.databind.json.JsonMapper;

/** The platform's JSON: snake_case, unknown fields refused, times as RFC 3339 text. */
public final class Json {
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .disable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .disable(DateTimeFeature.WRITE_DATES_AS_TIMESTAMPS)
            .enable(MapperFeature.ACCEPT_CASE_INSENSITIVE_ENUMS)
            .build();

    private static final JsonMapper CANONICAL = MAPPER.rebuild()
            .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
            .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
            .build();

    private Json() {}

    /** The shared mapper; immutable and thread-safe. */
    public static JsonMapper mapper() {
        return MAPPER;
    }

    /** Writes a value as JSON text. */
    public static String write(Object value) {
        return MAPPER.writeValueAsString(value);
    }

    /**
     * Reads JSON text.
     *
     * @throws tools.jackson.core.JacksonException when the text is no JSON or does not fit {@code type}
     */
    public static <T> T read(String json, Class<T> type) {
        return MAPPER.readValue(json, type);
    }

    /**
     * Canonical JSON: object keys sorted at every depth, no blanks, ASCII only. Equal values give equal text, so the
     * text can be hashed.
     */
    public static String canonical(Object value) {
        return CANONICAL.writeValueAsString(sorted(MAPPER.valueToTree(value)));
    }

    private static Object sorted(JsonNode node) {
        if (node.isObject()) {
            Map<String, Object> fields = new TreeMap<>();
            node.properties().forEach(entry -> fields.put(entry.getKey(), sorted(entry.getValue())));
            return fields;
        }
        if (node.isArray()) {
            return List.of(node.valueStream().map(Json::sorted).toArray());
        }
        return node;
    }
}
