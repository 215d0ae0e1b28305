package org.harnesslearning.gateway.openapi;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Map;
import org.harnesslearning.contracts.json.Json;
import org.springframework.stereotype.Component;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/** The hand-written OpenAPI document, read once. */
@Component
final class OpenApiDocument {
    private static final String RESOURCE = "/openapi/openapi.yaml";

    private final byte[] json;

    OpenApiDocument() {
        try (InputStream in = OpenApiDocument.class.getResourceAsStream(RESOURCE)) {
            if (in == null) {
                throw new IllegalStateException(RESOURCE + " is missing");
            }
            Map<String, Object> document = new Yaml(new SafeConstructor(new LoaderOptions())).load(in);
            json = Json.mapper().writeValueAsBytes(document);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The document as JSON text in UTF-8. */
    byte[] json() {
        return json.clone();
    }
}
