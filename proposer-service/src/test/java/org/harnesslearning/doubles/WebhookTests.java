package org.harnesslearning.doubles;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

@RequiresPostgres
class WebhookTests {
    private static Platform platform;
    private static Receiver receiver;

    @BeforeAll
    static void start() {
        receiver = new Receiver();
        platform = new Platform(List.of(
                "--proposer.webhooks.allowed-hosts=127.0.0.1:" + receiver.port(),
                "--proposer.webhooks.retry-delays=50ms,50ms"));
    }

    @AfterAll
    static void stop() {
        platform.close();
        receiver.close();
    }

    @AfterEach
    void reset() {
        platform.api
                .get("/webhooks")
                .json()
                .get("data")
                .forEach(webhook -> platform.api.send(
                        "DELETE", "/webhooks/" + webhook.get("id").asString(), new byte[0]));
        receiver.answers.clear();
        receiver.calls.clear();
    }

    private static JsonNode register(String... events) {
        Api.Answer created = platform.api.post(
                "/webhooks", Platform.body(Map.of("url", receiver.url("/hook"), "events", List.of(events))));
        assertThat(created.status()).as(created.body()).isEqualTo(201);
        assertThat(created.header("Cache-Control")).contains("no-store");
        return created.json();
    }

    private static JsonNode evaluate() {
        Map<String, Object> request = new LinkedHashMap<>();
        request.put("task", platform.task(2, 4, 5));
        request.put("harness", Map.of("source", Platform.SEED.replace("0.0", "0.5")));
        request.put("gate", Map.of("min_score", 0.4));
        request.put("labels", Map.of("branch", "main"));
        return platform.api.post("/evaluations", Platform.body(request)).json();
    }

    private static JsonNode await(JsonNode webhook, Predicate<JsonNode> wanted) throws InterruptedException {
        long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        JsonNode last = null;
        while (System.nanoTime() < end) {
            last = platform.api
                    .get("/webhooks/" + webhook.get("id").asString() + "/deliveries")
                    .json()
                    .get("data");
            if (wanted.test(last)) {
                return last;
            }
            Thread.sleep(20);
        }
        throw new AssertionError("not reached in time; last seen: " + last);
    }

    private static boolean state(JsonNode deliveries, String state) {
        return deliveries.path(0).path("state").asString("").equals(state);
    }

    @Test
    void the_end_of_a_run_is_told_signed_and_logged() throws Exception {
        JsonNode webhook = register("evaluation.finished");
        assertThat(platform.api.get("/webhooks").body())
                .doesNotContain(webhook.get("secret").asString());
        JsonNode run = evaluate();
        Receiver.Call call = receiver.next();

        JsonNode payload = Json.mapper().readTree(call.body());
        assertThat(payload.get("type").asString()).isEqualTo("evaluation.finished");
        assertThat(payload.at("/data/id").asString()).isEqualTo(run.get("id").asString());
        assertThat(payload.at("/data/state").asString()).isEqualTo("succeeded");
        assertThat(payload.at("/data/gate").asString()).isEqualTo("passed");
        assertThat(payload.at("/data/labels/branch").asString()).isEqualTo("main");
        assertThat(platform.api.get(payload.at("/data/links/self").asString()).status())
                .isEqualTo(200);
        assertThat(call.body()).doesNotContain(" dev 0/4");
        // Verified as a receiver would, from the published form alone.
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(
                Base64.getDecoder().decode(webhook.get("secret").asString().substring("whsec_".length())),
                "HmacSHA256"));
        String signed = call.id() + "." + call.timestamp() + "." + call.body();
        assertThat(call.signature())
                .isEqualTo("v1,"
                        + Base64.getEncoder().encodeToString(mac.doFinal(signed.getBytes(StandardCharsets.UTF_8))));

        JsonNode log = await(webhook, deliveries -> state(deliveries, "delivered"));
        assertThat(log).hasSize(1);
        assertThat(log.at("/0/event").asString()).isEqualTo(call.id());
        assertThat(log.at("/0/attempts/0/status").asInt()).isEqualTo(204);
    }

    @Test
    void a_failing_receiver_is_tried_again_and_given_up_in_the_end_and_can_be_told_again() throws Exception {
        JsonNode webhook = register("evaluation.finished");
        receiver.answers.addAll(List.of(500, 503, 204));
        evaluate();
        JsonNode log = await(webhook, deliveries -> state(deliveries, "delivered"));
        assertThat(log.at("/0/attempts")
                        .valueStream()
                        .map(attempt -> attempt.get("status").asInt())
                        .toList())
                .containsExactly(500, 503, 204);
        Receiver.Call first = receiver.next();
        assertThat(receiver.next().id()).isEqualTo(first.id());

        receiver.answers.addAll(List.of(500, 302, 500));
        evaluate();
        JsonNode failed = await(webhook, deliveries -> state(deliveries, "failed"));
        assertThat(failed.at("/0/attempts")).hasSize(3);
        receiver.calls.clear();
        String path = "/webhooks/" + webhook.get("id").asString() + "/deliveries/"
                + failed.at("/0/id").asString() + "/redeliver";
        assertThat(platform.api.post(path, "").status()).isEqualTo(202);
        JsonNode again = await(webhook, deliveries -> deliveries.size() == 3 && state(deliveries, "delivered"));
        assertThat(again.at("/0/event")).isEqualTo(failed.at("/0/event"));
        // A redirect is an answer like any other: nobody was called elsewhere.
        assertThat(receiver.next().path()).isEqualTo("/hook");
        assertThat(receiver.calls).isEmpty();
    }

    @Test
    void a_receiver_that_is_gone_is_left_alone() throws Exception {
        JsonNode webhook = register("evaluation.finished");
        receiver.answers.add(410);
        String path = "/webhooks/" + webhook.get("id").asString();
        assertThat(platform.api.post(path + "/ping", "").status()).isEqualTo(202);
        await(webhook, deliveries -> state(deliveries, "failed"));
        assertThat(platform.api.get(path).json().get("disabled_at").isNull()).isFalse();
        evaluate();
        assertThat(platform.api.get(path + "/deliveries").json().get("data")).hasSize(1);
        assertThat(platform.api.post(path + "/ping", "").status()).isEqualTo(409);
    }

    @Test
    void promotions_are_told_to_those_who_asked_for_them() {
        register("harness.promoted");
        evaluate();
        platform.api.post(
                "/harnesses/names/told/promote", Platform.body(Map.of("harness", Map.of("source", Platform.SEED))));
        JsonNode payload = Json.mapper().readTree(receiver.next().body());
        assertThat(payload.get("type").asString()).isEqualTo("harness.promoted");
        assertThat(payload.at("/data/name").asString()).isEqualTo("told");
        assertThat(payload.at("/data/version").asInt()).isEqualTo(1);
    }

    @Test
    void deleting_a_run_takes_its_deliveries_with_it() throws Exception {
        JsonNode webhook = register("evaluation.finished");
        JsonNode run = evaluate();
        await(webhook, deliveries -> state(deliveries, "delivered"));
        assertThat(platform.api
                        .send("DELETE", "/evaluations/" + run.get("id").asString(), new byte[0])
                        .status())
                .isEqualTo(204);
        assertThat(await(webhook, deliveries -> deliveries.isEmpty())).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "http://example.org/hook",
                "https://127.0.0.1/hook",
                "https://127.0.0.1:1/hook",
                "https://[::1]/hook",
                "https://10.0.0.8/hook",
                "https://192.168.1.1/hook",
                "https://172.20.0.1/hook",
                "https://169.254.169.254/latest/meta-data",
                "https://100.64.0.1/hook",
                "https://[fd00::1]/hook",
                "https://[::ffff:10.0.0.1]/hook",
                "https://0.0.0.0/hook",
                "https://2130706433/hook",
                "https://user:secret@example.org/hook",
                "https://example.org/hook#part",
                "ftp://example.org/hook",
                "file:///etc/passwd",
                "hook"
            })
    void receivers_inside_or_without_tls_are_refused(String url) {
        Api.Answer answer = platform.api.post("/webhooks", Platform.body(Map.of("url", url)));
        assertThat(answer.status()).as(url).isEqualTo(400);
        assertThat(answer.json().at("/errors/0/pointer").asString()).isEqualTo("/url");
    }

    @Test
    void a_name_that_points_inside_is_refused_when_the_connection_is_made() throws Exception {
        Api.Answer created = platform.api.post("/webhooks", Platform.body(Map.of("url", "https://localhost/hook")));
        assertThat(created.status()).as(created.body()).isEqualTo(201);
        platform.api.post("/webhooks/" + created.json().get("id").asString() + "/ping", "");
        JsonNode log = await(created.json(), deliveries -> state(deliveries, "failed"));
        assertThat(log.at("/0/attempts/0/error").asString()).contains("no public address");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "https://example.org/hook?team=a",
                "https://example.org:8443/hook",
                "https://93.184.216.34/hook",
                "https://[2606:2800:220:1:248:1893:25c8:1946]/hook"
            })
    void public_receivers_are_taken(String url) {
        assertThat(platform.api
                        .post("/webhooks", Platform.body(Map.of("url", url)))
                        .status())
                .isEqualTo(201);
    }

    @Test
    void unknown_events_and_fields_are_refused() {
        assertThat(platform.api
                        .post("/webhooks", Platform.body(Map.of("url", receiver.url("/"), "events", List.of("all"))))
                        .json()
                        .at("/errors/0/pointer")
                        .asString())
                .isEqualTo("/events");
        assertThat(platform.api.post("/webhooks", "{}").status()).isEqualTo(400);
        assertThat(platform.api.get("/webhooks/whk_none").status()).isEqualTo(404);
    }
}
