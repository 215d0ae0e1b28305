package org.harnesslearning.standalone.deployment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.harnesslearning.standalone.deployment.Manifests.list;
import static org.harnesslearning.standalone.deployment.Manifests.name;
import static org.harnesslearning.standalone.deployment.Manifests.of;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.RequiresTools;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.support.SpringApplicationJsonEnvironmentPostProcessor;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Every overlay of k8s/, rendered by kustomize. */
@RequiresTools
class KubernetesManifestsTest {
    private static final List<String> SERVICES =
            List.of("gateway", "proposer-service", "harness-executor", "solver-service", "trainer-service");
    private static final String SANDBOX = "harness-sandbox";
    private static final Map<String, List<JsonNode>> RENDERED = new HashMap<>();

    private final Manifests manifests = new Manifests();

    @BeforeAll
    static void render() {
        for (String overlay : List.of("cpu", "gpu", "local")) {
            RENDERED.put(
                    overlay, Manifests.render(Manifests.ROOT.resolve("overlays").resolve(overlay)));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"cpu", "gpu", "local"})
    void every_object_is_as_the_api_wants_it(String overlay) {
        List<JsonNode> objects = RENDERED.get(overlay);

        assertThat(objects).hasSizeGreaterThan(35);
        for (JsonNode object : objects) {
            assertThat(manifests.faults(object)).as(name(object)).isEmpty();
        }
    }

    @Test
    void objects_outside_the_overlays_are_as_the_api_wants_them() throws IOException {
        List<Path> folders;
        try (Stream<Path> files = Files.walk(Manifests.ROOT)) {
            folders = files.filter(file -> file.endsWith("kustomization.yaml"))
                    .filter(file -> Manifests.read(file).contains("kind: Kustomization"))
                    .map(Path::getParent)
                    .filter(folder -> !RENDERED.containsKey(folder.getFileName().toString()))
                    .toList();
        }
        assertThat(folders).contains(Manifests.ROOT.resolve("base"));
        for (Path folder : folders) {
            for (JsonNode object : Manifests.render(folder)) {
                assertThat(manifests.faults(object))
                        .as(folder + " " + name(object))
                        .isEmpty();
            }
        }
    }

    @Test
    void broken_manifests_are_found(@TempDir Path folder) throws IOException {
        ObjectNode misspelled = copy("Deployment", "gateway");
        ((ObjectNode) misspelled.get("spec")).put("replica", 2);
        assertThat(manifests.faults(misspelled))
                .anySatisfy(fault -> assertThat(fault).contains("replica"));

        ObjectNode deep = copy("Deployment", "gateway");
        ((ObjectNode) deep.at("/spec/template/spec/containers/0/readinessProbe/httpGet")).put("pfad", "/readyz");
        assertThat(manifests.faults(deep)).anySatisfy(fault -> assertThat(fault).contains("pfad"));

        ObjectNode wrongType = copy("Service", "gateway");
        ((ObjectNode) wrongType.at("/spec/ports/0")).put("port", "http");
        assertThat(manifests.faults(wrongType))
                .anySatisfy(fault -> assertThat(fault).contains("port"));

        ObjectNode incomplete = copy("Deployment", "gateway");
        ((ObjectNode) incomplete.get("spec")).remove("selector");
        assertThat(manifests.faults(incomplete))
                .anySatisfy(fault -> assertThat(fault).contains("selector"));

        ObjectNode old = copy("HorizontalPodAutoscaler", "gateway");
        old.put("apiVersion", "autoscaling/v2beta1");
        assertThat(manifests.faults(old)).singleElement().asString().contains("v2beta1");

        ObjectNode route = copy("HTTPRoute", "harness");
        ((ObjectNode) route.at("/spec/rules/0")).put("matchs", true);
        assertThat(manifests.faults(route)).singleElement().asString().contains("matchs");

        ObjectNode rule = copy("PrometheusRule", "harness-learning");
        ((ObjectNode) rule.at("/spec/groups/0/rules/0")).put("fore", "5m");
        assertThat(manifests.faults(rule)).singleElement().asString().contains("fore");

        Files.writeString(folder.resolve("kustomization.yaml"), "resources: [missing.yaml]\n");
        assertThatThrownBy(() -> Manifests.render(folder)).hasMessageContaining("missing.yaml");
    }

    private static ObjectNode copy(String kind, String name) {
        return of(RENDERED.get("cpu"), kind).stream()
                .filter(object -> object.at("/metadata/name").asString().equals(name))
                .findFirst()
                .map(object -> (ObjectNode) object.deepCopy())
                .orElseThrow();
    }

    @ParameterizedTest
    @ValueSource(strings = {"cpu", "gpu", "local"})
    void only_the_executors_namespace_allows_more_than_the_restricted_profile(String overlay) {
        List<JsonNode> objects = RENDERED.get(overlay);

        for (JsonNode namespace : of(objects, "Namespace")) {
            boolean sandbox = namespace.at("/metadata/name").asString().equals(SANDBOX);
            assertThat(namespace
                            .at("/metadata/labels")
                            .path("pod-security.kubernetes.io/enforce")
                            .asString())
                    .isEqualTo(sandbox ? "privileged" : "restricted");
        }
        List<String> inSandbox = new ArrayList<>();
        for (JsonNode workload : workloads(objects)) {
            if (workload.at("/metadata/namespace").asString().equals(SANDBOX)) {
                inSandbox.add(workload.at("/metadata/name").asString());
                continue;
            }
            JsonNode pod = workload.at("/spec/template/spec");
            assertThat(pod.at("/securityContext/runAsNonRoot").asBoolean(false))
                    .as(name(workload))
                    .isTrue();
            assertThat(pod.at("/securityContext/seccompProfile/type").asString())
                    .as(name(workload))
                    .isEqualTo("RuntimeDefault");
            assertThat(pod.has("hostNetwork") || pod.has("hostPID") || pod.has("hostIPC"))
                    .isFalse();
            for (JsonNode volume : list(pod.path("volumes"))) {
                assertThat(volume.has("hostPath")).as(name(workload)).isFalse();
            }
            for (JsonNode container : containers(pod)) {
                JsonNode security = container.path("securityContext");
                assertThat(security.path("allowPrivilegeEscalation").asBoolean(true))
                        .as(name(workload))
                        .isFalse();
                assertThat(security.at("/capabilities/drop/0").asString(""))
                        .as(name(workload))
                        .isEqualTo("ALL");
                assertThat(security.path("privileged").asBoolean(false)).isFalse();
            }
        }
        assertThat(inSandbox).containsExactly("harness-executor");
    }

    @ParameterizedTest
    @ValueSource(strings = {"cpu", "gpu", "local"})
    void every_service_has_probes_limits_a_budget_for_disruptions_and_time_to_drain(String overlay) {
        List<JsonNode> objects = RENDERED.get(overlay);
        // Seconds that each service takes to stop at most: its own drain and Spring's phase for running calls.
        Map<String, Integer> drain = Map.of(
                "gateway",
                30,
                "proposer-service",
                20 + 30,
                "harness-executor",
                30,
                "solver-service",
                60,
                "trainer-service",
                60);

        assertThat(of(objects, "Deployment").stream()
                        .map(object -> object.at("/metadata/name").asString()))
                .containsExactlyInAnyOrderElementsOf(SERVICES);
        for (JsonNode workload : of(objects, "Deployment")) {
            String name = workload.at("/metadata/name").asString();
            JsonNode pod = workload.at("/spec/template/spec");
            JsonNode main = pod.at("/containers/0");
            assertThat(main.at("/readinessProbe/httpGet/path").asString()).isEqualTo("/readyz");
            assertThat(main.at("/livenessProbe/httpGet/path").asString()).isEqualTo("/livez");
            assertThat(main.at("/startupProbe/httpGet/path").asString()).isEqualTo("/livez");
            for (JsonNode container : containers(pod)) {
                assertThat(container.at("/resources/limits/memory").isMissingNode())
                        .as(name)
                        .isFalse();
                assertThat(container.at("/resources/requests/cpu").isMissingNode())
                        .as(name)
                        .isFalse();
            }
            int preStop = main.at("/lifecycle/preStop/sleep/seconds").asInt();
            assertThat(pod.at("/terminationGracePeriodSeconds").asInt())
                    .as(name)
                    .isGreaterThan(preStop + drain.get(name));
            assertThat(of(objects, "PodDisruptionBudget"))
                    .as(name)
                    .anyMatch(budget -> selects(budget.at("/spec/selector/matchLabels"), workload));
            assertThat(of(objects, "Service"))
                    .as(name)
                    .anyMatch(service -> selects(service.at("/spec/selector"), workload)
                            && service.at("/spec/ports/0/targetPort").asString().equals("http"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"cpu", "gpu", "local"})
    void what_no_policy_names_is_denied_and_every_policy_names_pods_that_exist(String overlay) {
        List<JsonNode> objects = RENDERED.get(overlay);
        List<JsonNode> policies = of(objects, "NetworkPolicy");

        for (JsonNode namespace : of(objects, "Namespace")) {
            assertThat(policies)
                    .as(name(namespace))
                    .anyMatch(policy -> policy.at("/metadata/namespace")
                                    .asString()
                                    .equals(namespace.at("/metadata/name").asString())
                            && policy.at("/spec/podSelector").isEmpty()
                            && policy.at("/spec/policyTypes").size() == 2
                            && !policy.path("spec").has("ingress")
                            && !policy.path("spec").has("egress"));
        }
        for (JsonNode policy : policies) {
            if (!policy.at("/spec/podSelector").isEmpty()) {
                assertThat(workloads(objects))
                        .as(name(policy))
                        .anyMatch(workload -> policy.at("/metadata/namespace")
                                        .asString()
                                        .equals(workload.at("/metadata/namespace")
                                                .asString())
                                && selects(policy.at("/spec/podSelector/matchLabels"), workload));
            }
        }
        // What a caller may send, the called one takes.
        for (String caller : SERVICES) {
            for (JsonNode peer : policy(policies, caller).at("/spec/egress").findValues("podSelector")) {
                String called =
                        peer.at("/matchLabels").path("app.kubernetes.io/name").asString();
                assertThat(policy(policies, called).at("/spec/ingress").toString())
                        .as(caller + " calls " + called)
                        .contains("\"" + caller + "\"");
            }
        }
        assertThat(policy(policies, "gateway").at("/spec/ingress").toString()).contains("harness-learning.org/edge");
    }

    @ParameterizedTest
    @ValueSource(strings = {"cpu", "gpu"})
    void autoscalers_monitors_and_the_route_point_at_what_exists(String overlay) {
        List<JsonNode> objects = RENDERED.get(overlay);

        assertThat(of(objects, "HorizontalPodAutoscaler"))
                .hasSize(4)
                .allSatisfy(scaler -> assertThat(of(objects, "Deployment"))
                        .anyMatch(deployment -> deployment
                                        .at("/metadata/name")
                                        .equals(scaler.at("/spec/scaleTargetRef/name"))
                                && deployment.at("/metadata/namespace").equals(scaler.at("/metadata/namespace"))));
        String adapter = of(objects, "ConfigMap").stream()
                .filter(map -> map.at("/metadata/name").asString().equals("harness-adapter-rules"))
                .map(map -> map.at("/data").path("config.yaml").asString())
                .findFirst()
                .orElseThrow();
        for (JsonNode scaler : of(objects, "HorizontalPodAutoscaler")) {
            for (JsonNode metric : list(scaler.at("/spec/metrics"))) {
                String name = metric.at("/pods/metric/name")
                        .asString(metric.at("/external/metric/name").asString("cpu"));
                assertThat(name.equals("cpu") || adapter.contains("as: " + name))
                        .as(name)
                        .isTrue();
            }
        }
        for (JsonNode monitor : of(objects, "ServiceMonitor")) {
            assertThat(of(objects, "Service"))
                    .as(name(monitor))
                    .anyMatch(service -> service.at("/metadata/namespace").equals(monitor.at("/metadata/namespace"))
                            && service.at("/metadata/labels")
                                    .path("app.kubernetes.io/name")
                                    .equals(monitor.at("/spec/selector/matchLabels")
                                            .path("app.kubernetes.io/name"))
                            && service.at("/spec/ports/0/name").equals(monitor.at("/spec/endpoints/0/port")));
        }
        assertThat(of(objects, "ServiceMonitor")).hasSameSizeAs(SERVICES);
        assertThat(of(objects, "HTTPRoute"))
                .singleElement()
                .satisfies(route -> assertThat(
                                route.at("/spec/rules/0/backendRefs/0/name").asString())
                        .isEqualTo("gateway"));
    }

    @Test
    void the_operators_alerts_are_those_of_prometheus() {
        JsonNode rule = of(RENDERED.get("cpu"), "PrometheusRule").getFirst();
        JsonNode alerts = Manifests.parse(
                        Manifests.read(SharedData.root().resolve("observability/prometheus/alerts.yml")))
                .getFirst();

        assertThat(rule.at("/spec/groups")).isEqualTo(alerts.get("groups"));
    }

    @Test
    void the_gpu_overlay_asks_for_gpus_and_the_local_one_brings_its_database() {
        for (String name : List.of("solver-service", "trainer-service")) {
            JsonNode deployment = of(RENDERED.get("gpu"), "Deployment").stream()
                    .filter(object -> object.at("/metadata/name").asString().equals(name))
                    .findFirst()
                    .orElseThrow();
            JsonNode container = deployment.at("/spec/template/spec/containers/0");
            assertThat(container.at("/resources/limits").path("nvidia.com/gpu").asInt())
                    .isEqualTo(1);
            assertThat(container.at("/image").asString()).contains(name + "-gpu");
            assertThat(container.at("/env").toString()).contains("\"cuda\"").contains("HARNESS_CACHE");
        }
        assertThat(of(RENDERED.get("local"), "StatefulSet")).hasSize(1);
        assertThat(of(RENDERED.get("local"), "Secret")).hasSize(2);
        assertThat(of(RENDERED.get("cpu"), "Secret")).isEmpty();
        assertThat(of(RENDERED.get("local"), "HorizontalPodAutoscaler")).isEmpty();
    }

    @Test
    void trainers_have_the_checkpoint_of_the_model_that_the_solver_serves() throws IOException {
        List<JsonNode> trainers = new ArrayList<>(of(Manifests.render(Manifests.ROOT.resolve("trainer-job")), "Job"));
        RENDERED.values()
                .forEach(objects -> of(objects, "Deployment").stream()
                        .filter(object -> object.at("/metadata/name").asString().equals("trainer-service"))
                        .forEach(trainers::add));

        assertThat(trainers).hasSize(4);
        for (JsonNode trainer : trainers) {
            JsonNode pod = trainer.at("/spec/template/spec");
            Map<String, String> variables = new HashMap<>();
            pod.at("/containers/0/env")
                    .forEach(variable -> variables.put(
                            variable.get("name").asString(),
                            variable.path("value").asString("")));
            // As the service reads it.
            StandardEnvironment environment = new StandardEnvironment();
            environment
                    .getPropertySources()
                    .addFirst(new MapPropertySource(
                            "json", Map.of("spring.application.json", variables.get("SPRING_APPLICATION_JSON"))));
            new SpringApplicationJsonEnvironmentPostProcessor()
                    .postProcessEnvironment(environment, new SpringApplication());
            Map<String, String> checkpoints = Binder.get(environment)
                    .bind("trainer.checkpoints", Bindable.mapOf(String.class, String.class))
                    .get();

            String model = "qwen2.5-coder-1.5b";
            assertThat(checkpoints)
                    .containsExactly(Map.entry(
                            model, variables.get("HARNESS_CACHE") + "/models/" + model + "/" + model + ".gguf"));
            JsonNode fetch = pod.at("/initContainers/0");
            assertThat(fetch.get("command").get(fetch.get("command").size() - 1).asString())
                    .isEqualTo(model);
            assertThat(fetch.get("volumeMounts").toString()).contains("\"mountPath\":\"/cache\"");
        }
    }

    private static JsonNode policy(List<JsonNode> policies, String name) {
        return policies.stream()
                .filter(policy -> policy.at("/metadata/name").asString().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static List<JsonNode> workloads(List<JsonNode> objects) {
        List<JsonNode> workloads = new ArrayList<>(of(objects, "Deployment"));
        workloads.addAll(of(objects, "StatefulSet"));
        return workloads;
    }

    private static List<JsonNode> containers(JsonNode pod) {
        ArrayNode all = Json.mapper().createArrayNode();
        list(pod.path("initContainers")).forEach(all::add);
        list(pod.path("containers")).forEach(all::add);
        return list(all);
    }

    private static boolean selects(JsonNode labels, JsonNode workload) {
        return !labels.isEmpty()
                && labels.propertyStream()
                        .allMatch(label -> workload.at("/spec/template/metadata/labels")
                                .path(label.getKey())
                                .equals(label.getValue()));
    }
}
