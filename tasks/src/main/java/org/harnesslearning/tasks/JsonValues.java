package org.harnesslearning.tasks;

import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Equality of JSON values (RFC 8259): the order of object members does not count, the order of arrays does; numbers are
 * equal by value ({@code 1} and {@code 1.0}), never equal to texts. Text after the value, a repeated member name and NaN
 * make an answer invalid.
 */
final class JsonValues {
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private JsonValues() {}

    /** The value of a text; null when the text is not JSON. */
    static @Nullable JsonNode parse(String text) {
        try {
            JsonNode node = MAPPER.readTree(text);
            return node == null || node.isMissingNode() ? null : node;
        } catch (JacksonException | NumberFormatException e) {
            return null;
        }
    }

    static boolean equal(String gold, String answer) {
        JsonNode expected = parse(gold);
        JsonNode actual = parse(answer);
        return expected != null && actual != null && equal(expected, actual);
    }

    private static boolean equal(JsonNode a, JsonNode b) {
        if (a.isNumber()) {
            // Digits are capped by the parser, so bringing both to one scale stays cheap.
            return b.isNumber() && a.decimalValue().compareTo(b.decimalValue()) == 0;
        }
        if (a.isArray()) {
            if (!b.isArray() || a.size() != b.size()) {
                return false;
            }
            Iterator<JsonNode> others = b.iterator();
            for (JsonNode element : a) {
                if (!equal(element, others.next())) {
                    return false;
                }
            }
            return true;
        }
        if (a.isObject()) {
            if (!b.isObject() || a.size() != b.size()) {
                return false;
            }
            for (Map.Entry<String, JsonNode> member : a.properties()) {
                JsonNode other = b.get(member.getKey());
                if (other == null || !equal(member.getValue(), other)) {
                    return false;
                }
            }
            return true;
        }
        return a.equals(b);
    }
}
