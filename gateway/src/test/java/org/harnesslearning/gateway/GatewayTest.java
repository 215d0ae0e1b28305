package org.harnesslearning.gateway;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

@RequiresPostgres
class GatewayTest {
    private static final String ADMIN = "hl_test-admin-key-0123456789-0123456789";
    private static final String SECRET = "installation-secret";

    private static UpstreamDouble upstream;
    private static UpstreamDouble trainer;
    private static ConfigurableApplicationContext gateway;
    private static URI base;
    private static String runKey;
    private static String readKey;
    private static final HttpClient CLIENT =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @BeforeAll
    static void start() throws Exception {
        upstream = new UpstreamDouble();
        trainer = new UpstreamDouble();
        gateway = start(
                "--platform.proposer-url=" + upstream.url(),
                "--platform.trainer-url=" + trainer.url(),
                "--gateway.rate.burst=5000");
        base = base(gateway);
        runKey = newKey("operator", "run");
        readKey = newKey("viewer", "read");
    }

    private static ConfigurableApplicationContext start(String... more) {
        List<String> arguments = new ArrayList<>(List.of(
                "--spring.config.name=gateway",
                "--server.port=0",
                "--server.address=127.0.0.1",
                "--spring.datasource.url=" + TestPostgres.jdbcUrl(TestPostgres.createDatabase()),
                "--spring.datasource.username=postgres",
                "--platform.internal-secret=" + SECRET,
                "--gateway.key.bootstrap=" + ADMIN));
        arguments.addAll(List.of(more));
        return new SpringApplicationBuilder(GatewayApplication.class).run(arguments.toArray(String[]::new));
    }

    private static URI base(ConfigurableApplicationContext context) {
        return URI.create("http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port"));
    }

    @AfterAll
    static void stop() {
        gateway.close();
        upstream.close();
        trainer.close();
    }

    @BeforeEach
    void quietUpstream() {
        upstream.answers(exchange -> UpstreamDouble.answer(exchange, 200, "application/json", "{}"));
    }

    private static HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(base.resolve(path));
    }

    private static HttpRequest.Builder request(String path, String key) {
        return request(path).header("Authorization", "Bearer " + key);
    }

    private static HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        return CLIENT.send(request.build(), BodyHandlers.ofString());
    }

    private static String newKey(String name, String scope) throws Exception {
        HttpResponse<String> answer = send(request("/keys", ADMIN)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString("{\"name\":\"%s\",\"scope\":\"%s\"}".formatted(name, scope))));
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
        return Json.mapper().readTree(answer.body()).get("key").stringValue();
    }

    private static JsonNode problem(HttpResponse<String> answer, int status, String code) {
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
        assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/problem+json");
        JsonNode body = Json.mapper().readTree(answer.body());
        assertThat(body.get("code").stringValue()).isEqualTo(code);
        assertThat(body.get("status").intValue()).isEqualTo(status);
        assertThat(answer.headers().allValues("X-Request-Id"))
                .containsExactly(body.get("request_id").stringValue());
        return body;
    }

    @Test
    void training_runs_versions_and_promotions_go_to_the_trainer_with_the_callers_scope() throws Exception {
        trainer.answers(exchange -> UpstreamDouble.answer(exchange, 200, "application/json", "{}"));
        String version = "sha256:" + "0".repeat(64);
        assertThat(send(request("/training-runs?state=running", readKey)).statusCode())
                .isEqualTo(200);
        assertThat(send(request("/models/versions/" + version + "/adapter", readKey))
                        .statusCode())
                .isEqualTo(200);
        assertThat(send(request("/models/qwen2.5-coder-1.5b/versions", readKey)).statusCode())
                .isEqualTo(200);
        assertThat(send(request("/models/proposer/promote", runKey)
                                .header("Content-Type", "application/json")
                                .POST(BodyPublishers.ofString("{\"version\":\"" + version + "\"}")))
                        .statusCode())
                .isEqualTo(200);
        assertThat(trainer.seen())
                .extracting(UpstreamDouble.Seen::target)
                .containsExactly(
                        "/training-runs?state=running",
                        "/models/versions/" + version + "/adapter",
                        "/models/qwen2.5-coder-1.5b/versions",
                        "/models/proposer/promote");
        assertThat(trainer.seen().getFirst().header("X-Key-Scope")).isEqualTo("read");
        assertThat(trainer.seen().getLast().header("X-Key-Scope")).isEqualTo("run");
        assertThat(upstream.seen()).isEmpty();

        problem(
                send(request("/training-runs", readKey)
                        .header("Content-Type", "application/json")
                        .POST(BodyPublishers.ofString("{}"))),
                403,
                "INSUFFICIENT_SCOPE");
        assertThat(trainer.seen()).hasSize(4);
    }

    @Test
    void passes_a_request_on_with_the_platforms_own_headers() throws Exception {
        upstream.answers(exchange -> {
            exchange.getResponseHeaders().set("Location", "/adaptations/adp_1");
            exchange.getResponseHeaders().set("X-Internal-Secret", SECRET);
            exchange.getResponseHeaders().set("X-Request-Id", "other");
            UpstreamDouble.answer(exchange, 202, "application/json", "{\"id\":\"adp_1\"}");
        });
        HttpResponse<String> answer = send(request("/adapt?x=a%20b", runKey)
                .header("Content-Type", "application/json")
                .header("Idempotency-Key", "k1")
                .header("X-Request-Id", "trace-7")
                .header("X-Key-Scope", "admin")
                .header("X-Internal-Secret", "guess")
                .header("X-Forwarded-For", "10.0.0.1")
                .header("Cookie", "a=b")
                .POST(BodyPublishers.ofString("{\"task\":1}")));

        assertThat(answer.statusCode()).isEqualTo(202);
        assertThat(answer.body()).isEqualTo("{\"id\":\"adp_1\"}");
        assertThat(answer.headers().firstValue("Location")).hasValue("/adaptations/adp_1");
        assertThat(answer.headers().allValues("X-Request-Id")).containsExactly("trace-7");
        assertThat(answer.headers().firstValue("X-Internal-Secret")).isEmpty();
        UpstreamDouble.Seen seen = upstream.seen().getFirst();
        assertThat(seen.target()).isEqualTo("/adapt?x=a%20b");
        assertThat(new String(seen.body(), UTF_8)).isEqualTo("{\"task\":1}");
        assertThat(seen.header("X-Internal-Secret")).isEqualTo(SECRET);
        assertThat(seen.header("X-Key-Scope")).isEqualTo("run");
        assertThat(seen.header("X-Key-Id")).startsWith("key_");
        assertThat(seen.header("X-Request-Id")).isEqualTo("trace-7");
        assertThat(seen.header("Idempotency-Key")).isEqualTo("k1");
        assertThat(seen.header("Authorization")).isEmpty();
        assertThat(seen.header("Cookie")).isEmpty();
        assertThat(seen.header("X-Forwarded-For")).isEmpty();
    }

    @Test
    void passes_an_upstream_problem_as_it_is() throws Exception {
        String body = "{\"type\":\"about:blank\",\"title\":\"t\",\"status\":422,\"detail\":\"d\","
                + "\"code\":\"OVERLAPPING_SPLITS\",\"errors\":[]}";
        upstream.answers(exchange -> UpstreamDouble.answer(exchange, 422, "application/problem+json", body));
        HttpResponse<String> answer = send(request("/adapt", runKey).POST(BodyPublishers.ofString("{}")));
        assertThat(answer.statusCode()).isEqualTo(422);
        assertThat(answer.body()).isEqualTo(body);
    }

    @Test
    void gives_problem_details_to_an_upstream_error_without_them() throws Exception {
        upstream.answers(exchange -> UpstreamDouble.answer(exchange, 500, "text/html", "<h1>stack trace</h1>"));
        HttpResponse<String> answer = send(request("/models", readKey));
        assertThat(problem(answer, 500, "INTERNAL").toString()).doesNotContain("stack trace");
    }

    @Test
    void asks_for_a_key_before_it_tells_what_exists() throws Exception {
        for (String path : List.of("/models", "/nothing-here", "/v1/models", "/internal/x", "/keys")) {
            HttpResponse<String> answer = send(request(path));
            problem(answer, 401, "MISSING_KEY");
            assertThat(answer.headers().firstValue("WWW-Authenticate")).hasValue("Bearer realm=\"harness-learning\"");
        }
        problem(send(request("/models", "hl_wrong")), 401, "INVALID_KEY");
        problem(send(request("/models").header("Authorization", "Basic YTpi")), 401, "INVALID_KEY");
        assertThat(upstream.seen()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/v1/chat/completions",
                "/v1/models",
                "/internal/executions",
                "/tokenize",
                "/adaptations/a/b",
                "/adaptations/..%2fv1",
                "/adaptations/adp_1/rounds/x/candidates/0",
                "/actuator",
                "/actuator/env",
                "/env",
                "/health",
                "/error",
                "/docs/../keys"
            })
    void exposes_nothing_that_is_not_on_the_list(String path) throws Exception {
        HttpResponse<String> answer =
                send(HttpRequest.newBuilder(URI.create(base + path)).header("Authorization", "Bearer " + ADMIN));
        assertThat(answer.statusCode()).as(path).isIn(400, 404);
        assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/problem+json");
        assertThat(upstream.seen()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "POST,/adapt",
        "POST,/revise",
        "POST,/evaluations",
        "POST,/tasks",
        "DELETE,/adaptations/adp_1",
        "POST,/adaptations/adp_1/cancel",
        "POST,/revisions/rev_1/pause",
        "POST,/evaluations/evl_1/resume",
        "GET,/keys",
        "POST,/keys",
        "DELETE,/keys/key_1"
    })
    void refuses_what_a_read_key_does_not_cover(String method, String path) throws Exception {
        problem(send(request(path, readKey).method(method, BodyPublishers.ofString("{}"))), 403, "INSUFFICIENT_SCOPE");
        assertThat(upstream.seen()).isEmpty();
    }

    @Test
    void only_admin_manages_keys() throws Exception {
        problem(send(request("/keys", runKey)), 403, "INSUFFICIENT_SCOPE");
    }

    @Test
    void says_which_methods_a_path_takes() throws Exception {
        HttpResponse<String> answer = send(request("/tasks", ADMIN).DELETE());
        problem(answer, 405, "METHOD_NOT_ALLOWED");
        assertThat(answer.headers().firstValue("Allow")).hasValue("GET, POST");
        problem(send(request("/livez").POST(BodyPublishers.noBody())), 405, "METHOD_NOT_ALLOWED");
    }

    @Test
    void a_revoked_key_stops_working_at_once() throws Exception {
        String key = newKey("short-lived", "read");
        assertThat(send(request("/models", key)).statusCode()).isEqualTo(200);
        JsonNode list = Json.mapper().readTree(send(request("/keys", ADMIN)).body());
        assertThat(list.toString()).doesNotContain(key).doesNotContain("hash");
        JsonNode mine = Stream.iterate(0, i -> i + 1)
                .limit(list.get("data").size())
                .map(i -> list.get("data").get(i))
                .filter(node -> node.get("name").stringValue().equals("short-lived"))
                .findFirst()
                .orElseThrow();
        assertThat(mine.has("last_used_at")).isTrue();
        String path = "/keys/" + mine.get("id").stringValue();
        assertThat(send(request(path, ADMIN).DELETE()).statusCode()).isEqualTo(204);
        problem(send(request("/models", key)), 401, "INVALID_KEY");
        problem(send(request(path, ADMIN).DELETE()), 404, "NOT_FOUND");
    }

    @Test
    void a_key_in_the_url_or_in_a_body_is_no_key() throws Exception {
        for (String query : List.of("key=", "api_key=", "access_token=", "authorization=Bearer%20")) {
            problem(send(request("/models?" + query + ADMIN)), 401, "MISSING_KEY");
        }
        problem(
                send(request("/adapt")
                        .header("Content-Type", "application/x-www-form-urlencoded")
                        .POST(BodyPublishers.ofString("access_token=" + ADMIN))),
                401,
                "MISSING_KEY");
        assertThat(upstream.seen()).isEmpty();
    }

    @Test
    void a_key_may_have_an_end_that_lies_ahead() throws Exception {
        HttpResponse<String> past = send(request("/keys", ADMIN)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(
                        "{\"name\":\"over\",\"scope\":\"read\",\"expires_at\":\"2020-01-01T00:00:00Z\"}")));
        assertThat(problem(past, 400, "INVALID_FIELD")
                        .get("errors")
                        .get(0)
                        .get("pointer")
                        .stringValue())
                .isEqualTo("/expires_at");
        HttpResponse<String> ahead = send(request("/keys", ADMIN)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(
                        "{\"name\":\"ends\",\"scope\":\"read\",\"expires_at\":\"2100-01-01T00:00:00Z\"}")));
        JsonNode key = Json.mapper().readTree(ahead.body());
        assertThat(key.get("expires_at").stringValue()).isEqualTo("2100-01-01T00:00:00Z");
        assertThat(send(request("/models", key.get("key").stringValue())).statusCode())
                .isEqualTo(200);
    }

    @Test
    void real_answers_fit_the_document() throws Exception {
        JsonNode document =
                Json.mapper().readTree(send(request("/openapi.json")).body());
        OpenApiSchemas schemas = new OpenApiSchemas(document);
        HttpResponse<String> created = send(request("/keys", ADMIN)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString("{\"name\":\"checked\",\"scope\":\"read\",\"rate_per_second\":1.5,"
                        + "\"rate_burst\":7,\"max_body_bytes\":4096}")));
        schemas.check("Key", created.body());
        schemas.check("KeyList", send(request("/keys", ADMIN)).body());
        schemas.check("Problem", send(request("/keys", readKey)).body());
        schemas.check("Problem", send(request("/nothing", readKey)).body());
        schemas.check(
                "Problem",
                send(request("/keys", ADMIN)
                                .header("Content-Type", "application/json")
                                .POST(BodyPublishers.ofString("{\"name\":\"x\",\"scope\":\"root\"}")))
                        .body());
        schemas.check("Health", send(request("/readyz")).body());
    }

    @Test
    void refuses_bad_key_requests_naming_the_field() throws Exception {
        HttpResponse<String> scope = send(request("/keys", ADMIN)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString("{\"name\":\"x\",\"scope\":\"root\"}")));
        assertThat(problem(scope, 400, "INVALID_FIELD")
                        .get("errors")
                        .get(0)
                        .get("pointer")
                        .stringValue())
                .isEqualTo("/scope");
        HttpResponse<String> unknown = send(request("/keys", ADMIN)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString("{\"name\":\"x\",\"scope\":\"read\",\"extra\":1}")));
        assertThat(problem(unknown, 400, "UNKNOWN_FIELD")
                        .get("errors")
                        .get(0)
                        .get("pointer")
                        .stringValue())
                .isEqualTo("/extra");
        problem(
                send(request("/keys", ADMIN)
                        .header("Content-Type", "application/json")
                        .POST(BodyPublishers.ofString("{\"name\""))),
                400,
                "MALFORMED_JSON");
        problem(
                send(request("/keys", ADMIN)
                        .header("Content-Type", "text/plain")
                        .POST(BodyPublishers.ofString("x"))),
                415,
                "UNSUPPORTED_MEDIA_TYPE");
        problem(send(request("/keys", ADMIN).header("Accept", "image/png")), 406, "NOT_ACCEPTABLE");
    }

    private static HttpRequest.Builder once(String path, String key, String idempotencyKey, String body) {
        return request(path, key)
                .header("Content-Type", "application/json")
                .header("Idempotency-Key", idempotencyKey)
                .POST(BodyPublishers.ofString(body));
    }

    @Test
    void an_equal_post_under_an_idempotency_key_gets_the_first_answer_and_no_second_effect() throws Exception {
        AtomicInteger made = new AtomicInteger();
        upstream.answers(exchange -> {
            exchange.getResponseHeaders().set("Location", "/tasks/tsk_" + made.incrementAndGet());
            UpstreamDouble.answer(exchange, 201, "application/json", "{\"id\":\"tsk_" + made.get() + "\"}");
        });
        HttpResponse<String> first = send(once("/tasks?x=1", runKey, "once-1", "{\"a\":1}"));
        HttpResponse<String> second = send(once("/tasks?x=1", runKey, "once-1", "{\"a\":1}"));

        assertThat(first.statusCode()).isEqualTo(201);
        assertThat(second.statusCode()).isEqualTo(201);
        assertThat(second.body()).isEqualTo(first.body());
        assertThat(second.headers().firstValue("Location")).hasValue("/tasks/tsk_1");
        assertThat(second.headers().firstValue("Content-Type"))
                .isEqualTo(first.headers().firstValue("Content-Type"));
        assertThat(second.headers().firstValue("Idempotent-Replayed")).hasValue("true");
        assertThat(second.headers().firstValue("X-Request-Id"))
                .isNotEqualTo(first.headers().firstValue("X-Request-Id"));
        assertThat(upstream.seen()).hasSize(1);
        assertThat(new String(upstream.seen().getFirst().body(), UTF_8)).isEqualTo("{\"a\":1}");

        problem(send(once("/tasks?x=1", runKey, "once-1", "{\"a\":2}")), 409, "IDEMPOTENCY_MISMATCH");
        problem(send(once("/tasks?x=2", runKey, "once-1", "{\"a\":1}")), 409, "IDEMPOTENCY_MISMATCH");
        problem(send(once("/webhooks", ADMIN, " ", "{}")), 400, "INVALID_FIELD");
        // Keys of different callers are different keys.
        assertThat(send(once("/tasks?x=1", ADMIN, "once-1", "{\"a\":1}")).body())
                .contains("tsk_2");
    }

    @Test
    void a_new_api_key_made_under_an_idempotency_key_is_shown_to_the_same_caller_alone_and_not_stored_in_the_clear()
            throws Exception {
        String body = "{\"name\":\"once\",\"scope\":\"read\"}";
        HttpResponse<String> first = send(once("/keys", ADMIN, "once-2", body));
        HttpResponse<String> second = send(once("/keys", ADMIN, "once-2", body));

        assertThat(first.statusCode()).isEqualTo(201);
        assertThat(second.body()).isEqualTo(first.body());
        assertThat(second.headers().firstValue("Cache-Control")).hasValue("no-store");
        String secret = Json.mapper().readTree(first.body()).get("key").stringValue();
        assertThat(send(request("/keys", ADMIN)).body().split("\"name\":\"once\"", -1))
                .hasSize(2);
        assertThat(gateway.getBean(JdbcClient.class)
                        .sql("select key_hash, request_hash, answer from first_answer")
                        .query((row, index) ->
                                row.getString(1) + row.getString(2) + new String(row.getBytes(3), ISO_8859_1))
                        .list())
                .isNotEmpty()
                .noneMatch(row -> row.contains(secret) || row.contains("once-2"));
    }

    @Test
    void a_request_that_comes_while_the_first_is_at_work_is_told_so() throws Exception {
        CountDownLatch arrived = new CountDownLatch(1);
        CountDownLatch open = new CountDownLatch(1);
        upstream.answers(exchange -> {
            arrived.countDown();
            try {
                open.await(60, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            UpstreamDouble.answer(exchange, 202, "application/json", "{\"n\":1}");
        });
        CompletableFuture<HttpResponse<String>> first = CLIENT.sendAsync(
                once("/adaptations/adp_1/cancel", runKey, "once-3", "").build(), BodyHandlers.ofString());
        assertThat(arrived.await(60, TimeUnit.SECONDS)).isTrue();
        HttpResponse<String> meanwhile = send(once("/adaptations/adp_1/cancel", runKey, "once-3", ""));
        problem(meanwhile, 409, "IDEMPOTENCY_IN_PROGRESS");
        assertThat(meanwhile.headers().firstValue("Retry-After")).hasValue("1");
        open.countDown();
        assertThat(first.get(60, TimeUnit.SECONDS).body()).isEqualTo("{\"n\":1}");
        assertThat(send(once("/adaptations/adp_1/cancel", runKey, "once-3", "")).body())
                .isEqualTo("{\"n\":1}");
    }

    @Test
    void a_failure_of_the_platform_is_not_kept_but_a_refusal_is() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        upstream.answers(exchange -> UpstreamDouble.answer(
                exchange,
                asked.incrementAndGet() == 1 ? 503 : 404,
                "application/problem+json",
                "{\"type\":\"about:blank\",\"title\":\"t\",\"status\":404,\"detail\":\"d\",\"code\":\"NOT_FOUND\","
                        + "\"errors\":[]}"));
        assertThat(send(once("/adaptations/adp_2/pause", runKey, "once-4", "")).statusCode())
                .isEqualTo(503);
        assertThat(send(once("/adaptations/adp_2/pause", runKey, "once-4", "")).statusCode())
                .isEqualTo(404);
        assertThat(send(once("/adaptations/adp_2/pause", runKey, "once-4", "")).statusCode())
                .isEqualTo(404);
        assertThat(asked).hasValue(2);
        // Runs tie their keys to themselves, so those calls pass.
        send(once("/adapt", runKey, "once-5", "{}"));
        send(once("/adapt", runKey, "once-5", "{}"));
        assertThat(asked).hasValue(4);
        assertThat(upstream.seen().getLast().header("Idempotency-Key")).isEqualTo("once-5");
    }

    @Test
    void a_form_announced_by_a_request_that_reads_is_not_looked_for() throws Exception {
        for (String path : List.of("/livez", "/readyz", "/metrics", "/openapi.json")) {
            HttpResponse<String> answer = send(request(path, readKey).header("Content-Type", "multipart/form-data"));
            assertThat(answer.statusCode()).as(path).isEqualTo(200);
        }
    }

    @Test
    void a_query_that_can_not_be_read_is_refused() throws Exception {
        problem(send(request("/adaptations?=b", readKey)), 400, "INVALID_FIELD");
        problem(send(request("/adaptations?task=a%00b", readKey)), 400, "INVALID_FIELD");
    }

    @Test
    void an_expired_key_is_refused() throws Exception {
        String body = "{\"name\":\"short\",\"scope\":\"read\",\"expires_at\":\"%s\"}";
        HttpResponse<String> created = send(request("/keys", ADMIN)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(body.formatted(Instant.now().plusSeconds(3600)))));
        assertThat(created.statusCode()).as(created.body()).isEqualTo(201);
        JsonNode key = Json.mapper().readTree(created.body());
        assertThat(key.get("expires_at").asString()).isNotBlank();
        String secret = key.get("key").stringValue();
        assertThat(send(request("/models", secret)).statusCode()).isEqualTo(200);
        gateway.getBean(JdbcClient.class)
                .sql("update api_key set expires_at = now() - interval '1 second' where id = ?")
                .param(key.get("id").stringValue())
                .update();
        problem(send(request("/models", secret)), 401, "INVALID_KEY");
        for (String wrong : List.of("2020-01-01T00:00:00Z", "1999-12-31T23:59:59Z")) {
            HttpResponse<String> refused = send(request("/keys", ADMIN)
                    .header("Content-Type", "application/json")
                    .POST(BodyPublishers.ofString(body.formatted(wrong))));
            assertThat(problem(refused, 400, "INVALID_FIELD")
                            .at("/errors/0/pointer")
                            .stringValue())
                    .isEqualTo("/expires_at");
        }
    }

    @Test
    void refuses_a_large_body_that_announces_its_length() throws Exception {
        HttpResponse<String> answer =
                send(request("/adapt", runKey).POST(BodyPublishers.ofByteArray(new byte[9 * 1024 * 1024])));
        problem(answer, 413, "TOO_LARGE");
        assertThat(upstream.seen()).isEmpty();
    }

    @Test
    void refuses_a_large_chunked_body() throws Exception {
        HttpResponse<String> answer = send(request("/adapt", runKey)
                .POST(BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(new byte[9 * 1024 * 1024]))));
        problem(answer, 413, "TOO_LARGE");
        HttpResponse<String> keys = send(request("/keys", ADMIN)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofInputStream(
                        () -> new ByteArrayInputStream((" ".repeat(100_000) + "{}").getBytes(UTF_8)))));
        problem(keys, 413, "TOO_LARGE");
    }

    @Test
    void takes_a_task_upload_of_many_megabytes() throws Exception {
        byte[] body = new byte[20 * 1024 * 1024];
        HttpResponse<String> answer = send(request("/tasks", runKey).POST(BodyPublishers.ofByteArray(body)));
        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(upstream.seen().getFirst().body()).hasSize(body.length);
    }

    @Test
    void streams_events_as_they_come() throws Exception {
        CountDownLatch firstSeen = new CountDownLatch(1);
        upstream.answers(exchange -> {
            exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
            exchange.sendResponseHeaders(200, 0);
            exchange.getResponseBody().write("id: 1\nevent: state\ndata: {}\n\n".getBytes(UTF_8));
            exchange.getResponseBody().flush();
            try {
                // The second event is sent only after the client has read the first.
                if (firstSeen.await(20, TimeUnit.SECONDS)) {
                    exchange.getResponseBody().write("id: 2\nevent: finished\ndata: {}\n\n".getBytes(UTF_8));
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        HttpResponse<InputStream> answer = CLIENT.send(
                request("/adaptations/adp_1/events", readKey)
                        .header("Accept", "text/event-stream")
                        .header("Last-Event-ID", "0")
                        .build(),
                BodyHandlers.ofInputStream());
        assertThat(answer.headers().firstValue("Content-Type"))
                .hasValueSatisfying(type -> assertThat(type).startsWith("text/event-stream"));
        try (InputStream body = answer.body()) {
            StringBuilder text = new StringBuilder();
            while (text.indexOf("\n\n") < 0) {
                text.append((char) body.read());
            }
            assertThat(text).contains("id: 1");
            firstSeen.countDown();
            assertThat(new String(body.readAllBytes(), UTF_8)).contains("event: finished");
        }
        assertThat(upstream.seen().getFirst().header("Last-Event-ID")).isEqualTo("0");
    }

    @Test
    void answers_503_while_the_service_behind_is_away() throws Exception {
        try (ConfigurableApplicationContext alone = start("--platform.proposer-url=http://127.0.0.1:1")) {
            HttpResponse<String> answer = send(
                    HttpRequest.newBuilder(base(alone).resolve("/models")).header("Authorization", "Bearer " + ADMIN));
            problem(answer, 503, "DRAINING");
            assertThat(answer.headers().firstValue("Retry-After")).hasValue("5");
        }
    }

    @Test
    void answers_503_when_the_service_behind_takes_too_long_and_429_to_a_hasty_key() throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        upstream.answers(exchange -> {
            try {
                over.await(20, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        try (ConfigurableApplicationContext hasty = start(
                "--platform.proposer-url=" + upstream.url(),
                "--platform.answer-timeout=300ms",
                "--gateway.rate.burst=2",
                "--gateway.rate.per-second=0.01")) {
            HttpRequest.Builder models =
                    HttpRequest.newBuilder(base(hasty).resolve("/models")).header("Authorization", "Bearer " + ADMIN);
            problem(send(models), 503, "DRAINING");
            assertThat(send(HttpRequest.newBuilder(base(hasty).resolve("/keys"))
                                    .header("Authorization", "Bearer " + ADMIN))
                            .statusCode())
                    .isEqualTo(200);
            HttpResponse<String> third = send(models);
            problem(third, 429, "RATE_LIMITED");
            assertThat(third.headers().firstValue("Retry-After")).hasValue("100");
        } finally {
            over.countDown();
        }
    }

    private static JsonNode keyOf(String body) throws Exception {
        HttpResponse<String> made = send(request("/keys", ADMIN)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(body)));
        assertThat(made.statusCode()).as(made.body()).isEqualTo(201);
        return Json.mapper().readTree(made.body());
    }

    @Test
    void a_key_with_limits_of_its_own_is_held_to_them_and_other_keys_are_not() throws Exception {
        JsonNode made = keyOf("{\"name\":\"slow\",\"scope\":\"run\",\"rate_per_second\":0.01,\"rate_burst\":3,"
                + "\"max_body_bytes\":1000}");
        assertThat(made.get("rate_per_second").doubleValue()).isEqualTo(0.01);
        assertThat(made.get("rate_burst").intValue()).isEqualTo(3);
        assertThat(made.get("max_body_bytes").longValue()).isEqualTo(1000);
        String slow = made.get("key").stringValue();

        problem(send(request("/adapt", slow).POST(BodyPublishers.ofByteArray(new byte[1001]))), 413, "TOO_LARGE");
        problem(
                send(request("/adapt", slow)
                        .POST(BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(new byte[1001])))),
                413,
                "TOO_LARGE");
        assertThat(send(request("/adapt", slow).POST(BodyPublishers.ofByteArray(new byte[1000])))
                        .statusCode())
                .isEqualTo(200);
        HttpResponse<String> fourth = send(request("/models", slow));
        problem(fourth, 429, "RATE_LIMITED");
        assertThat(fourth.headers().firstValue("Retry-After")).hasValue("100");

        for (int i = 0; i < 5; i++) {
            assertThat(send(request("/adapt", runKey).POST(BodyPublishers.ofByteArray(new byte[5000])))
                            .statusCode())
                    .isEqualTo(200);
        }
    }

    @Test
    void a_key_gets_no_more_than_the_operator_allows() throws Exception {
        HttpResponse<String> refused = send(request("/keys", ADMIN)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString("{\"name\":\"x\",\"scope\":\"read\",\"rate_per_second\":201,"
                        + "\"rate_burst\":0,\"max_body_bytes\":67108865}")));
        JsonNode errors = problem(refused, 400, "INVALID_FIELD").get("errors");
        assertThat(errors)
                .extracting(error -> error.get("pointer").stringValue())
                .containsExactly("/rate_per_second", "/rate_burst", "/max_body_bytes");
        assertThat(errors.get(0).get("detail").stringValue()).contains("0.001 to 200");

        // A large allowance lifts no endpoint's own limit.
        String large = keyOf("{\"name\":\"large\",\"scope\":\"run\",\"max_body_bytes\":67108864}")
                .get("key")
                .stringValue();
        problem(
                send(request("/adapt", large).POST(BodyPublishers.ofByteArray(new byte[9 * 1024 * 1024]))),
                413,
                "TOO_LARGE");
    }

    @Test
    void a_stream_of_events_ends_with_the_key_that_it_was_opened_with() throws Exception {
        CountDownLatch revoked = new CountDownLatch(1);
        CompletableFuture<Boolean> behindKnows = new CompletableFuture<>();
        upstream.answers(exchange -> {
            exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
            exchange.sendResponseHeaders(200, 0);
            exchange.getResponseBody().write("id: 1\nevent: state\ndata: {}\n\n".getBytes(UTF_8));
            exchange.getResponseBody().flush();
            try {
                revoked.await(60, TimeUnit.SECONDS);
                // More than the sockets between hold back, so that a closed reader is felt here.
                byte[] event = ("id: 2\nevent: state\ndata: " + "secret".repeat(200) + "\n\n").getBytes(UTF_8);
                for (int i = 0; i < 100_000; i++) {
                    exchange.getResponseBody().write(event);
                    exchange.getResponseBody().flush();
                }
                behindKnows.complete(false);
            } catch (IOException e) {
                behindKnows.complete(true);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        JsonNode key = keyOf("{\"name\":\"watcher\",\"scope\":\"read\"}");
        HttpResponse<InputStream> answer = CLIENT.send(
                request("/adaptations/adp_1/events", key.get("key").stringValue())
                        .build(),
                BodyHandlers.ofInputStream());
        try (InputStream body = answer.body()) {
            StringBuilder text = new StringBuilder();
            while (text.indexOf("\n\n") < 0) {
                text.append((char) body.read());
            }
            assertThat(text).contains("id: 1");
            assertThat(send(request("/keys/" + key.get("id").stringValue(), ADMIN)
                                    .DELETE())
                            .statusCode())
                    .isEqualTo(204);
            revoked.countDown();
            assertThat(body.readAllBytes()).as("nothing after the revocation").isEmpty();
        }
        assertThat(behindKnows.get(60, TimeUnit.SECONDS))
                .as("the stream behind was closed")
                .isTrue();
    }

    @Test
    void answers_a_malformed_request_line_with_problem_details() throws Exception {
        try (Socket socket = new Socket("127.0.0.1", base.getPort())) {
            socket.getOutputStream().write("GET /a|b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".getBytes(UTF_8));
            String answer = new String(socket.getInputStream().readAllBytes(), UTF_8);
            assertThat(answer).startsWith("HTTP/1.1 400").contains("application/problem+json");
        }
    }

    @Test
    void every_answer_tells_browsers_to_run_frame_and_keep_nothing_but_a_page_has_its_own_policy() throws Exception {
        upstream.answers(exchange -> {
            exchange.getResponseHeaders().set("X-Frame-Options", "SAMEORIGIN");
            UpstreamDouble.answer(exchange, 200, "application/json", "{}");
        });
        for (HttpResponse<String> answer : List.of(
                send(request("/models", readKey)),
                send(request("/models")),
                send(request("/nothing", readKey)),
                send(request("/keys", ADMIN)),
                send(request("/livez")))) {
            assertThat(answer.headers().allValues("Content-Security-Policy"))
                    .as(answer.uri().getPath())
                    .containsExactly("default-src 'none'; frame-ancestors 'none'");
            assertThat(answer.headers().allValues("X-Content-Type-Options")).containsExactly("nosniff");
            assertThat(answer.headers().allValues("X-Frame-Options")).hasSize(1);
            assertThat(answer.headers().allValues("Referrer-Policy")).containsExactly("no-referrer");
            assertThat(answer.headers().allValues("Cross-Origin-Resource-Policy"))
                    .containsExactly("same-origin");
            assertThat(answer.headers().allValues("Cache-Control")).containsExactly("no-store");
            assertThat(answer.headers().firstValue("Server")).isEmpty();
            assertThat(answer.headers().firstValue("Access-Control-Allow-Origin"))
                    .isEmpty();
        }
        assertThat(send(request("/docs")).headers().allValues("Content-Security-Policy"))
                .singleElement()
                .asString()
                .contains("default-src 'self'", "frame-ancestors 'none'");
        assertThat(send(request("/docs/swagger-ui.css")).headers().allValues("Cache-Control"))
                .containsExactly("max-age=3600");
    }

    @Test
    void no_origin_is_allowed_to_call_from_a_browser() throws Exception {
        HttpResponse<String> answer = send(request("/adapt")
                .header("Origin", "https://elsewhere.example")
                .header("Access-Control-Request-Method", "POST")
                .method("OPTIONS", BodyPublishers.noBody()));

        assertThat(answer.statusCode()).isEqualTo(401);
        assertThat(answer.headers().map().keySet().stream().filter(name -> name.startsWith("access-control")))
                .isEmpty();
    }

    @Test
    void health_metrics_and_documents_are_open() throws Exception {
        for (String path : List.of("/livez", "/readyz", "/metrics", "/openapi.json", "/docs", "/docs/swagger-ui.css")) {
            assertThat(send(request(path)).statusCode()).as(path).isEqualTo(200);
        }
        assertThat(send(request("/docs")).body()).doesNotContain("//").contains("/docs/swagger-ui-bundle.js");
        assertThat(send(request("/docs/nothing.js")).statusCode()).isEqualTo(404);
        assertThat(send(request("/metrics")).body()).contains("http_server_requests");
    }
}
