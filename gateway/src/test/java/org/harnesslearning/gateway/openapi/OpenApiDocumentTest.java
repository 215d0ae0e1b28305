package org.harnesslearning.gateway.openapi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.gateway.OpenApiSchemas;
import org.harnesslearning.gateway.route.Endpoint;
import org.harnesslearning.gateway.route.PublicApi;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

class OpenApiDocumentTest {
    private static final Set<String> METHODS = Set.of("get", "post", "put", "patch", "delete");

    private final JsonNode document = Json.mapper().readTree(new OpenApiDocument().json());
    private final PublicApi api = new PublicApi();

    @Test
    void a_call_with_a_key_may_always_be_malformed() {
        operations().forEach((name, operation) -> {
            JsonNode responses = operation.get("responses");
            if (responses.has("401")) {
                assertThat(responses.has("400")).as(name).isTrue();
            }
        });
    }

    @Test
    void lists_exactly_the_gateways_endpoints() {
        Set<String> documented = new TreeSet<>();
        operations().forEach((name, operation) -> documented.add(name));
        Set<String> served = api.endpoints().stream()
                .filter(endpoint -> !endpoint.isPage())
                .filter(endpoint -> !endpoint.path().getPatternString().startsWith("/docs/"))
                .map(OpenApiDocumentTest::name)
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(documented).isEqualTo(served);
    }

    @Test
    void says_which_endpoints_are_open_and_which_scope_the_others_need() {
        Map<String, JsonNode> operations = operations();
        for (Endpoint endpoint : api.endpoints()) {
            JsonNode operation = operations.get(name(endpoint));
            if (operation == null) {
                continue;
            }
            if (endpoint.access() == Endpoint.Access.OPEN) {
                assertThat(operation.path("security").isArray())
                        .as(name(endpoint))
                        .isTrue();
            } else {
                assertThat(operation.path("description").asString(""))
                        .as(name(endpoint))
                        .contains("Scope `" + endpoint.scope().text() + "`");
                for (String status : List.of("401", "403", "429", "500")) {
                    assertThat(operation.path("responses").has(status))
                            .as("%s has %s", name(endpoint), status)
                            .isTrue();
                }
            }
        }
    }

    @Test
    void every_error_answer_is_problem_details_with_the_codes_of_its_status() {
        Set<String> known = new TreeSet<>();
        for (JsonNode code :
                document.path("components").path("schemas").path("ErrorCode").path("enum")) {
            known.add(code.stringValue());
        }
        assertThat(known)
                .isEqualTo(Arrays.stream(ErrorCode.values())
                        .map(Enum::name)
                        .collect(Collectors.toCollection(TreeSet::new)));
        operations()
                .forEach((name, operation) -> operation
                        .path("responses")
                        .properties()
                        .forEach(entry -> {
                            int status = Integer.parseInt(entry.getKey());
                            if (status < 400 || operation.path("security").isArray()) {
                                return;
                            }
                            JsonNode response = resolve(entry.getValue());
                            assertThat(response.path("content").has("application/problem+json"))
                                    .as("%s %d", name, status)
                                    .isTrue();
                            String description = response.path("description").stringValue();
                            List<String> codes = new ArrayList<>();
                            for (String part : description.split("`")) {
                                if (part.matches("[A-Z][A-Z0-9_]+")) {
                                    codes.add(part);
                                }
                            }
                            assertThat(codes).as("%s %d", name, status).isNotEmpty();
                            for (String code : codes) {
                                assertThat(ErrorCode.valueOf(code).status())
                                        .as("%s %s", name, code)
                                        .isEqualTo(status);
                            }
                        }));
    }

    @Test
    void every_reference_leads_somewhere() {
        List<String> references = new ArrayList<>();
        collect(document, references);
        assertThat(references).isNotEmpty();
        for (String reference : references) {
            assertThat(document.at(reference.substring(1)).isMissingNode())
                    .as(reference)
                    .isFalse();
        }
    }

    @Test
    void the_contracts_example_requests_fit_and_a_wrong_one_does_not() {
        OpenApiSchemas schemas = new OpenApiSchemas(document);
        schemas.check("AdaptRequest", """
                {"task": {"reasoning_gym": {"family": "chain_sum", "seed": 42, "config": {}}},
                 "harness": {"source": "def run(question, env):\\n    return env.llm(question)\\n"},
                 "splits": {"feedback": 6, "dev": 12, "held_out": 24}, "candidates": 4, "rounds": 3,
                 "selection": "keep_incumbent",
                 "proposer": {"model": "qwen2.5-coder-1.5b", "temperature": 0.8, "top_p": 0.95, "max_tokens": 1024,
                              "demonstrations": "default", "reply_form": "search_replace"},
                 "solver": {"model": "qwen2.5-coder-1.5b", "temperature": 0.0, "max_tokens": 512},
                 "limits": {"solver_calls_per_question": 12, "question_wall_clock_s": 60, "memory_mib": 256},
                 "budget": {"solver_calls": 2000, "tokens": 2000000, "wall_clock_s": 3600},
                 "gate": {"min_gain": 0.05, "confidence": 0.95, "max_cost": null}, "seed": 1,
                 "labels": {"branch": "main"}}
                """);
        assertThatThrownBy(() -> schemas.check("AdaptRequest", "{\"task\": {\"id\": \"tsk_1\"}, \"roundz\": 3}"))
                .isInstanceOf(AssertionError.class);
    }

    private Map<String, JsonNode> operations() {
        Map<String, JsonNode> operations = new java.util.TreeMap<>();
        document.path("paths")
                .properties()
                .forEach(path -> path.getValue().properties().stream()
                        .filter(entry -> METHODS.contains(entry.getKey()))
                        .forEach(entry -> operations.put(
                                entry.getKey().toUpperCase(Locale.ROOT) + " " + path.getKey(), entry.getValue())));
        return operations;
    }

    private static String name(Endpoint endpoint) {
        return endpoint.method().name() + " "
                + endpoint.path().getPatternString().replaceAll("\\{([a-z]+):(?:[^{}]|\\{[0-9,]+})*}", "{$1}");
    }

    private JsonNode resolve(JsonNode node) {
        return node.has("$ref") ? document.at(node.get("$ref").stringValue().substring(1)) : node;
    }

    private static void collect(JsonNode node, List<String> references) {
        if (node.isObject() && node.path("$ref").isString()) {
            references.add(node.get("$ref").stringValue());
        }
        node.values().forEach(child -> collect(child, references));
    }
}
