package org.harnesslearning.standalone.deployment;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.dialect.Dialects;
import io.fabric8.kubernetes.api.model.gatewayapi.v1.HTTPRoute;
import io.fabric8.openshift.api.model.monitoring.v1.PrometheusRule;
import io.fabric8.openshift.api.model.monitoring.v1.ServiceMonitor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.StreamSupport;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.CheckTools;
import org.harnesslearning.testing.SharedData;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import tools.jackson.databind.JsonNode;

/** Renders what is in k8s/ and holds it against the API's own schemas; unknown fields are faults. */
final class Manifests {
    static final Path ROOT = SharedData.root().resolve("k8s");

    /** Kinds that are no part of Kubernetes itself. */
    private static final Map<String, Class<?>> EXTENSIONS = Map.of(
            "gateway.networking.k8s.io/v1/HTTPRoute", HTTPRoute.class,
            "monitoring.coreos.com/v1/ServiceMonitor", ServiceMonitor.class,
            "monitoring.coreos.com/v1/PrometheusRule", PrometheusRule.class);

    private static final com.fasterxml.jackson.databind.ObjectMapper TYPED =
            new com.fasterxml.jackson.databind.ObjectMapper()
                    .configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, true)
                    .setAnnotationIntrospector(new JacksonAnnotationIntrospector() {
                        /** The models would collect unknown fields in a map. */
                        @Override
                        public Boolean hasAnySetter(Annotated a) {
                            return false;
                        }
                    });

    /** They name each other by addresses whose last part is the file. */
    private static final String LOCATION = "https://schemas.invalid/";

    private final SchemaRegistry schemas = SchemaRegistry.withDialect(
            Dialects.getDraft202012(),
            builder -> builder.schemas(
                    location -> read(CheckTools.folder().resolve("schemas").resolve(file(location)))));

    /** All objects of an overlay, as kustomize renders them. */
    static List<JsonNode> render(Path folder) {
        CheckTools.Result result = CheckTools.run("kubectl", ROOT, "kustomize", folder.toString());
        if (result.exitCode() != 0) {
            throw new IllegalArgumentException(result.errors());
        }
        return parse(result.output());
    }

    /** The documents of a YAML text. */
    static List<JsonNode> parse(String yaml) {
        List<JsonNode> documents = new ArrayList<>();
        for (Object document : new Yaml(new SafeConstructor(new LoaderOptions())).loadAll(yaml)) {
            if (document != null) {
                documents.add(Json.mapper().valueToTree(document));
            }
        }
        return documents;
    }

    /** Faults of an object; none when it is as the API wants it. */
    List<String> faults(JsonNode object) {
        String version = object.path("apiVersion").asString("");
        String kind = object.path("kind").asString("");
        Class<?> extension = EXTENSIONS.get(version + "/" + kind);
        if (extension != null) {
            try {
                TYPED.readValue(object.toString(), extension);
                return List.of();
            } catch (com.fasterxml.jackson.core.JsonProcessingException e) {
                return List.of(e.getOriginalMessage() + " at " + e.getMessage());
            }
        }
        int slash = version.indexOf('/');
        String group = slash < 0 ? "" : version.substring(0, slash).replaceFirst("\\..*", "") + "-";
        String file = kind.toLowerCase(Locale.ROOT) + "-" + group + version.substring(slash + 1) + ".json";
        if (!Files.isRegularFile(CheckTools.folder().resolve("schemas").resolve(file))) {
            return List.of("there is no kind " + kind + " in " + version);
        }
        Schema schema = schemas.getSchema(SchemaLocation.of(LOCATION + file));
        return schema.validate(object).stream().map(Objects::toString).toList();
    }

    private static String file(String location) {
        return location.replaceFirst("#.*", "").replaceFirst(".*/", "");
    }

    static List<JsonNode> of(List<JsonNode> objects, String kind) {
        return objects.stream()
                .filter(object -> object.path("kind").asString("").equals(kind))
                .toList();
    }

    static List<JsonNode> list(JsonNode array) {
        return StreamSupport.stream(array.spliterator(), false).toList();
    }

    static String name(JsonNode object) {
        return object.path("kind").asString("") + " "
                + object.at("/metadata/namespace").asString("") + "/"
                + object.at("/metadata/name").asString("");
    }

    static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
