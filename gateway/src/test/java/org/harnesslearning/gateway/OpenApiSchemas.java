package org.harnesslearning.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.dialect.Dialects;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Checks JSON against the schemas of an OpenAPI document, by an implementation of JSON Schema that is not ours. */
public final class OpenApiSchemas {
    private final JsonNode document;
    private final SchemaRegistry registry = SchemaRegistry.withDialect(Dialects.getDraft202012());

    public OpenApiSchemas(JsonNode document) {
        this.document = document;
    }

    /** Fails unless the text is JSON that fits the named schema. */
    public void check(String name, String json) {
        ObjectNode root = Json.mapper().createObjectNode();
        root.put("$ref", "#/components/schemas/" + name);
        root.set("components", document.get("components"));
        assertThat(registry.getSchema(root).validate(Json.mapper().readTree(json)))
                .as("%s against %s", json, name)
                .isEmpty();
    }
}
