package org.harnesslearning.executor.kit;

import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaException;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.dialect.Dialects;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Semaphore;
import org.harnesslearning.contracts.execution.SandboxTool;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import org.springframework.util.unit.DataSize;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/** A tool as this executor calls it. Its text form holds no credential. */
public final class Tool {
    private static final DataSize LARGEST_RESPONSE = DataSize.ofMegabytes(1);
    private static final int MOST_FAULTS = 3;
    private static final int SHORTEST_SECRET = 6;

    /** Headers that the platform or the protocol sets. */
    private static final Set<String> RESERVED = Set.of(
            "host", "content-length", "content-type", "accept", "idempotency-key", "connection", "transfer-encoding");

    private final SandboxTool offered;
    private final KitSettings.Tool settings;
    private final Schema schema;
    private final Map<String, String> headers = new LinkedHashMap<>();
    private final List<String> secrets = new ArrayList<>();
    private final Semaphore turns;

    /** @throws IllegalArgumentException naming the setting that is wrong, and never the value of a secret */
    Tool(String name, KitSettings.Tool settings) {
        this.settings = settings;
        String place = "executor.tools." + name;
        URI url = settings.url();
        require(
                url != null
                        && url.getHost() != null
                        && ("http".equals(url.getScheme()) || "https".equals(url.getScheme()))
                        && url.getUserInfo() == null
                        && url.getFragment() == null,
                place + ".url is an http or https address without a user's name and a fragment");
        require(
                settings.method() != KitSettings.Method.GET || url.getQuery() == null,
                place + ".url has no query where the method is GET");
        require(!settings.timeout().isZero() && !settings.timeout().isNegative(), place + ".timeout is above zero");
        require(
                settings.attempts() > 0 && settings.callsPerQuestion() > 0 && settings.parallel() > 0,
                place + ": attempts, calls-per-question and parallel are at least 1");
        require(
                settings.maxResponse().toBytes() > 0 && settings.maxResponse().compareTo(LARGEST_RESPONSE) <= 0,
                place + ".max-response is at most " + LARGEST_RESPONSE.toMegabytes() + " MB");
        JsonNode arguments = arguments(settings.arguments(), place + ".arguments");
        this.schema = schema(arguments, place + ".arguments");
        settings.headers().forEach((header, value) -> put(header, value, place + ".headers"));
        settings.secretHeaders().forEach((header, file) -> {
            String secret = read(file, place + ".secret-headers");
            put(header, secret, place + ".secret-headers");
            secrets.add(secret);
            int scheme = secret.indexOf(' ');
            if (scheme > 0) {
                secrets.add(secret.substring(scheme + 1).strip());
            }
        });
        secrets.removeIf(secret -> secret.length() < SHORTEST_SECRET);
        this.turns = new Semaphore(settings.parallel(), true);
        Map<String, Object> identity = new TreeMap<>();
        identity.put("name", name);
        identity.put("version", settings.version());
        identity.put("arguments", arguments);
        identity.put("answer", settings.answer());
        identity.put("calls_per_question", settings.callsPerQuestion());
        identity.put("max_response", settings.maxResponse().toBytes());
        this.offered = new SandboxTool(
                name,
                settings.description().strip(),
                arguments,
                settings.answer(),
                settings.callsPerQuestion(),
                Hashes.json(identity));
    }

    private static void require(boolean held, String message) {
        if (!held) {
            throw new IllegalArgumentException(message);
        }
    }

    private static JsonNode arguments(@Nullable String text, String place) {
        JsonNode arguments;
        try {
            arguments = Json.mapper().readTree(text == null ? "{\"type\": \"object\"}" : text);
        } catch (JacksonException e) {
            throw new IllegalArgumentException(place + " is not JSON: " + e.getOriginalMessage(), e);
        }
        require(arguments.isObject(), place + " is a JSON Schema, an object");
        return arguments;
    }

    private static Schema schema(JsonNode arguments, String place) {
        try {
            SchemaRegistry registry = SchemaRegistry.withDialect(Dialects.getDraft202012());
            List<Error> faults = registry.getSchema(com.networknt.schema.SchemaLocation.of(
                            Dialects.getDraft202012().getId()))
                    .validate(arguments);
            require(faults.isEmpty(), place + " is no JSON Schema: " + faults);
            Schema schema = registry.getSchema(arguments);
            schema.initializeValidators();
            return schema;
        } catch (SchemaException e) {
            throw new IllegalArgumentException(place + " is no JSON Schema: " + e.getMessage(), e);
        }
    }

    private void put(String header, String value, String place) {
        require(
                header.matches("[A-Za-z0-9-]{1,64}") && !RESERVED.contains(header.toLowerCase(Locale.ROOT)),
                place + "." + header + " is no header that can be set");
        require(
                value.chars().allMatch(letter -> letter >= ' ' && letter < 127),
                place + "." + header + " holds a character that no header may have");
        headers.put(header, value);
    }

    private static String read(Path file, String place) {
        try {
            String text = Files.readString(file).strip();
            require(!text.isEmpty(), place + ": the file " + file + " is empty");
            return text;
        } catch (IOException e) {
            throw new IllegalArgumentException(place + ": the file " + file + " can't be read", e);
        }
    }

    /** What others may know of it. */
    public SandboxTool offered() {
        return offered;
    }

    public String name() {
        return offered.name();
    }

    /** How it is called. */
    public KitSettings.Tool settings() {
        return settings;
    }

    /** Headers of every call, credentials among them. */
    public Map<String, String> headers() {
        return Map.copyOf(headers);
    }

    /** Turns of calls of this executor. */
    public Semaphore turns() {
        return turns;
    }

    /** What is wrong with arguments by the schema; null when nothing is. */
    public @Nullable String fault(JsonNode arguments) {
        List<Error> errors = schema.validate(arguments);
        if (errors.isEmpty()) {
            return null;
        }
        List<String> told = errors.stream()
                .limit(MOST_FAULTS)
                .map(error -> error.getInstanceLocation() + ": " + error.getMessage())
                .toList();
        return String.join("; ", told)
                + (errors.size() > MOST_FAULTS ? "; and " + (errors.size() - MOST_FAULTS) + " more" : "");
    }

    /** A text without the tool's credentials, should it hold one: a tool that tells what it was sent must not tell these. */
    public String withoutSecrets(String text) {
        String clean = text;
        for (String secret : secrets) {
            clean = clean.replace(secret, "[removed]");
        }
        return clean;
    }

    @Override
    public String toString() {
        return name();
    }
}
