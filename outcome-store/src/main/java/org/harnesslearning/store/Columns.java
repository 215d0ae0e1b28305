package org.harnesslearning.store;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;

/**
 * Values in the form that Postgres takes. Neither {@code text} nor {@code jsonb} holds a NUL character or half a
 * surrogate pair; both become U+FFFD, so that whatever a model or a harness writes can be stored.
 */
public final class Columns {
    private static final Pattern NUL_ESCAPE = Pattern.compile("(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000");

    private Columns() {}

    /** Text without characters that can't be stored. */
    public static String storable(String text) {
        StringBuilder out = null;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            boolean pair = Character.isHighSurrogate(c)
                    && i + 1 < text.length()
                    && Character.isLowSurrogate(text.charAt(i + 1));
            if (c == 0 || (Character.isSurrogate(c) && !pair)) {
                out = out == null ? new StringBuilder(text) : out;
                out.setCharAt(i, '\uFFFD');
            } else if (pair) {
                i++;
            }
        }
        return out == null ? text : out.toString();
    }

    /** A value as text for a {@code jsonb} column; null stays null. */
    public static @Nullable String json(@Nullable Object value) {
        if (value == null) {
            return null;
        }
        return storable(NUL_ESCAPE.matcher(Json.write(value)).replaceAll("$1\\\\ufffd"));
    }

    /** The parameters of a statement, nulls allowed. */
    public static List<?> row(@Nullable Object... values) {
        return Arrays.asList(values);
    }

    /** A time for a {@code timestamptz} column. */
    public static @Nullable OffsetDateTime time(@Nullable Instant instant) {
        return instant == null ? null : instant.atOffset(ZoneOffset.UTC);
    }

    /** A time of a {@code timestamptz} column. */
    public static @Nullable Instant instant(ResultSet row, String column) throws SQLException {
        Timestamp value = row.getTimestamp(column);
        return value == null ? null : value.toInstant();
    }

    /** A whole number, or null. */
    public static @Nullable Integer integer(ResultSet row, String column) throws SQLException {
        int value = row.getInt(column);
        return row.wasNull() ? null : value;
    }

    /** A value of a {@code jsonb} column. */
    public static <T> @Nullable T read(@Nullable String json, Class<T> type) {
        return json == null ? null : Json.read(json, type);
    }
}
