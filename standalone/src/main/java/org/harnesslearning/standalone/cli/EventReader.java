package org.harnesslearning.standalone.cli;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Reads a stream of server-sent events as the HTML standard defines it. */
final class EventReader implements AutoCloseable {
    /** One event; {@code id} is the last id of the stream so far. */
    record Event(String id, String type, String data) {}

    private final BufferedReader lines;
    private String id = "";

    EventReader(InputStream stream) {
        lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
    }

    /** The next event; null at the end of the stream. An event that the end cuts off is dropped. */
    @Nullable
    Event next() throws IOException {
        String type = "";
        StringBuilder data = new StringBuilder();
        boolean any = false;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.isEmpty()) {
                if (any) {
                    String text = data.isEmpty() ? "" : data.substring(0, data.length() - 1);
                    return new Event(id, type.isEmpty() ? "message" : type, text);
                }
                type = "";
                continue;
            }
            int colon = line.indexOf(':');
            String field = colon < 0 ? line : line.substring(0, colon);
            String value = colon < 0 ? "" : line.substring(colon + 1);
            if (value.startsWith(" ")) {
                value = value.substring(1);
            }
            switch (field) {
                case "event" -> type = value;
                case "data" -> {
                    data.append(value).append('\n');
                    any = true;
                }
                case "id" -> id = value;
                default -> {
                    // Comments and unknown fields are ignored.
                }
            }
        }
        return null;
    }

    @Override
    public void close() throws IOException {
        lines.close();
    }
}
