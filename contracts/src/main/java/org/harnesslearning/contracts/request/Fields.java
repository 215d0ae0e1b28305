package org.harnesslearning.contracts.request;

import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Reads the fields of one JSON object. Each getter notes a fault instead of throwing and then returns the default, so
 * that one pass finds all faults; {@link #end()} notes the fields that nobody asked for. JSON null counts as absent.
 */
public final class Fields {
    private final JsonNode node;
    private final String pointer;
    private final Faults faults;
    private final Set<String> known = new HashSet<>();

    private Fields(JsonNode node, String pointer, Faults faults) {
        this.node = node;
        this.pointer = pointer;
        this.faults = faults;
    }

    /** Reader of a whole body. */
    public static Fields of(JsonNode object, Faults faults) {
        return new Fields(object, "", faults);
    }

    /** JSON Pointer of a field. */
    public String pointer(String name) {
        return pointer + "/" + name.replace("~", "~0").replace("/", "~1");
    }

    /** Whether the field is there and not null. */
    public boolean has(String name) {
        return value(name) != null;
    }

    /** A field's value as it stands, null when absent. */
    public @Nullable JsonNode value(String name) {
        known.add(name);
        JsonNode value = node.get(name);
        return value == null || value.isNull() ? null : value;
    }

    /** A whole number from {@code min} to {@code max}. */
    public long integer(String name, long otherwise, long min, long max) {
        JsonNode value = value(name);
        if (value == null) {
            return otherwise;
        }
        if (!value.isIntegralNumber() || !value.canConvertToLong() || value.asLong() < min || value.asLong() > max) {
            fault(name, "must be a whole number from " + min + " to " + max);
            return otherwise;
        }
        return value.asLong();
    }

    /** A finite number from {@code min} to {@code max}. */
    public double number(String name, double otherwise, double min, double max) {
        JsonNode value = value(name);
        if (value == null) {
            return otherwise;
        }
        if (!value.isNumber() || !(value.asDouble() >= min && value.asDouble() <= max)) {
            fault(name, "must be a number from " + min + " to " + max);
            return otherwise;
        }
        return value.asDouble();
    }

    /** A truth value. */
    public boolean bool(String name, boolean otherwise) {
        JsonNode value = value(name);
        if (value != null && !value.isBoolean()) {
            fault(name, "must be true or false");
        }
        return value != null && value.isBoolean() ? value.asBoolean() : otherwise;
    }

    /** Text of at most {@code longest} characters; null when absent. */
    public @Nullable String text(String name, int longest) {
        JsonNode value = value(name);
        if (value == null) {
            return null;
        }
        if (!value.isString() || value.asString().isEmpty() || value.asString().length() > longest) {
            fault(name, "must be text of 1 to " + longest + " characters");
            return null;
        }
        if (value.asString().indexOf(0) >= 0) {
            fault(name, "must not contain NUL characters");
            return null;
        }
        return value.asString();
    }

    /** One of an enum's names, in lower case. */
    public <E extends Enum<E>> E choice(String name, Class<E> type, E otherwise) {
        JsonNode value = value(name);
        if (value == null) {
            return otherwise;
        }
        for (E constant : type.getEnumConstants()) {
            if (value.isString() && value.asString().equals(constant.name().toLowerCase(Locale.ROOT))) {
                return constant;
            }
        }
        fault(
                name,
                "must be one of "
                        + Arrays.stream(type.getEnumConstants())
                                .map(constant -> constant.name().toLowerCase(Locale.ROOT))
                                .collect(Collectors.joining(", ")));
        return otherwise;
    }

    /** A nested object; null when absent or no object. */
    public @Nullable Fields object(String name) {
        JsonNode value = value(name);
        if (value == null) {
            return null;
        }
        if (!value.isObject()) {
            fault(name, "must be an object");
            return null;
        }
        return new Fields(value, pointer(name), faults);
    }

    /** Short texts by name. */
    public Map<String, String> labels(String name, int most) {
        JsonNode value = value(name);
        Map<String, String> labels = new LinkedHashMap<>();
        if (value == null) {
            return labels;
        }
        if (!value.isObject() || value.size() > most) {
            fault(name, "must be an object of at most " + most + " texts");
            return labels;
        }
        value.properties().forEach(entry -> {
            if (!entry.getValue().isString()
                    || entry.getValue().asString().length() > 256
                    || entry.getKey().length() > 64) {
                faults.add(
                        new Fields(value, pointer(name), faults).pointer(entry.getKey()),
                        ErrorCode.INVALID_FIELD,
                        "labels are texts of at most 256 characters under names of at most 64");
            } else {
                labels.put(entry.getKey(), entry.getValue().asString());
            }
        });
        return labels;
    }

    /** A free JSON object as a map; empty when absent. */
    @SuppressWarnings("unchecked")
    public Map<String, Object> map(String name) {
        JsonNode value = value(name);
        if (value == null) {
            return Map.of();
        }
        if (!value.isObject()) {
            fault(name, "must be an object");
            return Map.of();
        }
        return Json.mapper().convertValue(value, Map.class);
    }

    /** Notes a fault of a field. */
    public void fault(String name, String detail) {
        fault(name, ErrorCode.INVALID_FIELD, detail);
    }

    /** Notes a fault of a field under a code of its own. */
    public void fault(String name, ErrorCode code, String detail) {
        faults.add(pointer(name), code, "Field " + name + " " + detail);
    }

    /** Notes a fault for every field that no getter asked for. */
    public void end() {
        for (String name : node.propertyNames()) {
            if (!known.contains(name)) {
                faults.add(pointer(name), ErrorCode.UNKNOWN_FIELD, "There is no field " + name);
            }
        }
    }
}
