package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.model.ModelApi;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.contracts.model.TokenizeRequest;
import org.harnesslearning.contracts.web.InternalClients;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** The API with a remote model on loopback and a recorded one. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class RemoteAndRecordedModelsTest {
    @TempDir
    static Path folder;

    private static FakeUpstream upstream;
    private static SolverServer server;

    @BeforeAll
    static void start() throws IOException {
        upstream = new FakeUpstream();
        Path file = Files.writeString(folder.resolve("replies.jsonl"), """
                {"position": "1/0", "reply": "first"}
                {"position": "1/1", "reply": "sécond", "finish_reason": "length", "prompt_tokens": 7, "completion_tokens": 3}

                {"position": "0/0", "reply": ""}
                """);
        server = new SolverServer(
                "--solver.discover=false",
                "--solver.models[0].name=far",
                "--solver.models[0].kind=remote",
                "--solver.models[0].base-url=" + upstream.baseUrl(),
                "--solver.models[0].api-key=key-1",
                "--solver.models[0].upstream-model=up-1",
                "--solver.models[0].timeout=700ms",
                "--solver.models[0].max-retries=1",
                "--solver.models[1].name=tape",
                "--solver.models[1].kind=recorded",
                "--solver.models[1].file=" + file);
    }

    @AfterAll
    static void stop() {
        server.close();
        upstream.close();
    }

    @BeforeEach
    void forget() {
        upstream.bodies.clear();
        upstream.scripts.clear();
        upstream.keys.clear();
    }

    private static JsonNode problem(HttpResponse<String> response) {
        assertThat(response.headers().firstValue("Content-Type").orElse("")).contains("application/problem+json");
        return Json.read(response.body(), JsonNode.class);
    }

    @Test
    void decoding_settings_are_really_sent() {
        upstream.scripts.add(FakeUpstream.choices("a", "b"));
        JsonNode answer = server.chat("""
                {"model": "far", "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"},
                 {"role": "assistant", "content": "A"}, {"role": "user", "content": [{"type": "text", "text": "V"}]}],
                 "temperature": 0.25, "top_p": 0.5, "max_tokens": 17, "stop": ["X", "Y"], "seed": 42, "n": 2}""");
        JsonNode sent = upstream.bodies.getFirst();
        assertThat(sent.get("model").asString()).isEqualTo("up-1");
        assertThat(sent.get("temperature").asDouble()).isEqualTo(0.25);
        assertThat(sent.get("top_p").asDouble()).isEqualTo(0.5);
        assertThat(sent.get("max_tokens").asInt()).isEqualTo(17);
        assertThat(sent.get("stop").toString()).isEqualTo("[\"X\",\"Y\"]");
        assertThat(sent.get("seed").asLong()).isEqualTo(42);
        assertThat(sent.get("n").asInt()).isEqualTo(2);
        assertThat(sent.get("messages")).hasSize(4);
        assertThat(sent.get("messages").get(0).get("role").asString()).isEqualTo("system");
        assertThat(upstream.keys).containsExactly("Bearer key-1");
        assertThat(answer.get("choices")).hasSize(2);
        assertThat(answer.at("/choices/1/message/content").asString()).isEqualTo("b");
        assertThat(answer.at("/choices/1/finish_reason").asString()).isEqualTo("stop");
        assertThat(answer.at("/usage/prompt_tokens").asInt()).isEqualTo(11);
        assertThat(answer.get("model").asString()).isEqualTo("far");
        assertThat(answer.has("recorded")).isFalse();
    }

    @Test
    void an_endpoint_that_gives_one_choice_at_a_time_is_asked_again() {
        upstream.scripts.add(FakeUpstream.choices("a"));
        upstream.scripts.add(FakeUpstream.choices("b"));
        upstream.scripts.add(FakeUpstream.choices("c"));
        JsonNode answer = server.chat(
                "{\"model\": \"far\", \"messages\": [{\"role\": \"user\", \"content\": \"U\"}], \"n\": 3, \"seed\": 5}");
        assertThat(answer.get("choices")).hasSize(3);
        assertThat(upstream.bodies).extracting(body -> body.get("n").asInt()).containsExactly(3, 2, 1);
        assertThat(upstream.bodies).extracting(body -> body.get("seed").asInt()).containsExactly(5, 6, 7);
        assertThat(answer.at("/usage/completion_tokens").asInt()).isEqualTo(15);
    }

    private static HttpResponse<String> ask() {
        return server.post(
                "/v1/chat/completions",
                "{\"model\": \"far\", \"messages\": [{\"role\": \"user\", \"content\": \"U\"}]}");
    }

    @Test
    void a_failure_that_passes_is_repeated() {
        upstream.scripts.add(FakeUpstream.status(500, "{}"));
        assertThat(ask().statusCode()).isEqualTo(200);
        assertThat(upstream.bodies).hasSize(2);
    }

    @Test
    void failures_of_the_endpoint_have_their_codes() {
        upstream.scripts.add(FakeUpstream.status(500, "{}"));
        upstream.scripts.add(FakeUpstream.status(503, "{}"));
        HttpResponse<String> down = ask();
        assertThat(down.statusCode()).isEqualTo(503);
        assertThat(problem(down).get("code").asString()).isEqualTo("SOLVER_UNAVAILABLE");
        assertThat(down.headers().firstValue("Retry-After")).isPresent();

        upstream.scripts.add(FakeUpstream.status(429, "{}", "Retry-After", "1"));
        upstream.scripts.add(FakeUpstream.status(429, "{}", "Retry-After", "9"));
        HttpResponse<String> busy = ask();
        assertThat(busy.statusCode()).isEqualTo(429);
        assertThat(problem(busy).get("code").asString()).isEqualTo("RATE_LIMITED");
        assertThat(busy.headers().firstValue("Retry-After")).hasValue("9");

        upstream.scripts.add(FakeUpstream.status(
                400, "{\"error\": {\"message\": \"too long\", \"type\": \"invalid_request_error\"}}"));
        HttpResponse<String> refused = ask();
        assertThat(refused.statusCode()).isEqualTo(400);
        assertThat(problem(refused).get("detail").asString()).contains("too long");

        upstream.scripts.add(FakeUpstream.status(401, "{}"));
        assertThat(problem(ask()).get("code").asString()).isEqualTo("SOLVER_UNAVAILABLE");

        upstream.scripts.add(FakeUpstream.cut());
        upstream.scripts.add(FakeUpstream.cut());
        HttpResponse<String> cut = ask();
        assertThat(cut.statusCode()).isEqualTo(503);
        assertThat(problem(cut).get("code").asString()).isEqualTo("SOLVER_UNAVAILABLE");

        upstream.scripts.add(upstream.silence());
        upstream.scripts.add(upstream.silence());
        HttpResponse<String> silent = ask();
        assertThat(silent.statusCode()).isEqualTo(503);
        assertThat(problem(silent).get("code").asString()).isEqualTo("SOLVER_UNAVAILABLE");
    }

    @Test
    void what_cannot_be_passed_on_is_refused() {
        HttpResponse<String> response = server.post("/v1/chat/completions", """
                {"model": "far", "messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": "A"}],
                 "continue_final_message": true}""");
        assertThat(problem(response).at("/errors/0/pointer").asString()).isEqualTo("/continue_final_message");
        assertThat(problem(server.post("/tokenize", "{\"model\": \"far\", \"prompt\": \"x\"}"))
                        .get("detail")
                        .asString())
                .contains("Only local models");
    }

    @Test
    void recorded_replies_come_by_position() {
        JsonNode answer = server.chat("""
                {"model": "tape", "messages": [{"role": "user", "content": "U"}], "n": 2,
                 "metadata": {"positions": "1/1, 1/0"}}""");
        assertThat(answer.get("recorded").asBoolean()).isTrue();
        assertThat(answer.at("/choices/0/message/content").asString()).isEqualTo("sécond");
        assertThat(answer.at("/choices/0/finish_reason").asString()).isEqualTo("length");
        assertThat(answer.at("/choices/1/message/content").asString()).isEqualTo("first");
        assertThat(answer.at("/usage/prompt_tokens").asInt()).isEqualTo(7);
    }

    @Test
    void a_missing_recording_is_a_clear_error() {
        HttpResponse<String> missing = server.post(
                "/v1/chat/completions",
                "{\"model\": \"tape\", \"messages\": [{\"role\": \"user\", \"content\": \"U\"}], \"metadata\": {\"positions\": \"3/0\"}}");
        assertThat(missing.statusCode()).isEqualTo(404);
        assertThat(problem(missing).get("detail").asString()).contains("'tape'", "3/0");
        HttpResponse<String> unkeyed = server.post(
                "/v1/chat/completions",
                "{\"model\": \"tape\", \"messages\": [{\"role\": \"user\", \"content\": \"U\"}]}");
        assertThat(problem(unkeyed).at("/errors/0/pointer").asString()).isEqualTo("/metadata/positions");
    }

    @Test
    void the_platforms_own_client_understands_answers_and_errors() {
        ModelApi api =
                InternalClients.create(ModelApi.class, server.base(), SolverServer.SECRET, Duration.ofSeconds(20));
        ChatRequest request = new ChatRequest(
                "tape",
                List.of(new ChatRequest.Message("user", "U")),
                5,
                0.5,
                0.9,
                10,
                1,
                3L,
                List.of(3L),
                List.of("x"),
                false,
                0,
                true,
                false,
                Map.of("positions", "1/0"));
        ChatResponse answer = api.chat(request);
        assertThat(answer.choices().getFirst().message().content()).isEqualTo("first");
        assertThat(answer.recorded()).isTrue();
        assertThat(api.models().data())
                .extracting(model -> model.kind())
                .containsExactly(ModelInfo.Kind.REMOTE, ModelInfo.Kind.RECORDED);
        assertThatThrownBy(() -> api.tokenize(new TokenizeRequest("nothing", "x", null)))
                .isInstanceOfSatisfying(
                        PlatformException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNKNOWN_MODEL));
        upstream.scripts.add(FakeUpstream.status(429, "{}", "Retry-After", "1"));
        upstream.scripts.add(FakeUpstream.status(429, "{}", "Retry-After", "7"));
        ChatRequest far = new ChatRequest(
                "far",
                request.messages(),
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null);
        assertThatThrownBy(() -> api.chat(far)).isInstanceOfSatisfying(PlatformException.class, e -> {
            assertThat(e.code()).isEqualTo(ErrorCode.RATE_LIMITED);
            assertThat(e.retryAfterSeconds()).isEqualTo(7);
        });
    }

    @Test
    void models_are_listed_with_kind_and_identity() {
        JsonNode models = Json.read(server.get("/v1/models").body(), JsonNode.class);
        assertThat(models.get("object").asString()).isEqualTo("list");
        assertThat(models.at("/data/0/kind").asString()).isEqualTo("remote");
        assertThat(models.at("/data/1/kind").asString()).isEqualTo("recorded");
        assertThat(models.at("/data/0/identity").asString()).startsWith("sha256:");
        assertThat(models.toString()).doesNotContain("key-1");
        assertThat(server.get("/v1/models/tape").statusCode()).isEqualTo(200);
    }

    @Test
    void bad_requests_name_the_field() {
        assertThat(problem(server.post(
                                "/v1/chat/completions",
                                "{\"model\": \"none\", \"messages\": [{\"role\": \"user\", \"content\": \"U\"}]}"))
                        .get("code")
                        .asString())
                .isEqualTo("UNKNOWN_MODEL");
        JsonNode unknown = problem(
                server.post("/v1/chat/completions", "{\"model\": \"far\", \"messages\": [], \"logit_bias\": {}}"));
        assertThat(unknown.get("code").asString()).isEqualTo("UNKNOWN_FIELD");
        assertThat(unknown.get("detail").asString()).contains("logit_bias");
        JsonNode several = problem(server.post("/v1/chat/completions", """
                {"messages": [{"role": "wizard", "content": "x"}, {"role": "user"}], "n": 0, "temperature": -1, "top_p": 0,
                 "stop": [""], "seeds": [1, 2], "max_tokens": 0, "top_logprobs": 3, "continue_final_message": true,
                 "response_format": {"type": "json_object"}}"""));
        assertThat(several.get("errors").valueStream().map(e -> e.get("pointer").asString()))
                .containsExactlyInAnyOrder(
                        "/model",
                        "/messages/0/role",
                        "/messages/1/content",
                        "/n",
                        "/temperature",
                        "/top_p",
                        "/stop",
                        "/seeds",
                        "/max_tokens",
                        "/top_logprobs",
                        "/continue_final_message",
                        "/response_format");
        assertThat(problem(server.post("/v1/chat/completions", "{")).get("code").asString())
                .isEqualTo("MALFORMED_JSON");
    }

    @Test
    void only_the_installation_gets_in_but_health_is_open() {
        HttpRequest.Builder bare = HttpRequest.newBuilder(server.base().resolve("/v1/models"));
        assertThat(server.send(bare).statusCode()).isEqualTo(401);
        assertThat(server.send(HttpRequest.newBuilder(server.base().resolve("/livez")))
                        .statusCode())
                .isEqualTo(200);
        assertThat(server.send(HttpRequest.newBuilder(server.base().resolve("/readyz")))
                        .statusCode())
                .isEqualTo(200);
        assertThat(server.send(HttpRequest.newBuilder(server.base().resolve("/metrics")))
                        .body())
                .contains("solver_requests_running{model=\"far\"} 0.0", "solver_requests_running{model=\"tape\"} 0.0");
    }

    @Test
    @Order(Integer.MAX_VALUE)
    void a_draining_service_refuses_new_calls() {
        server.context.getBean(RunningCalls.class).stop();
        HttpResponse<String> refused = ask();
        assertThat(refused.statusCode()).isEqualTo(503);
        assertThat(refused.headers().firstValue("Retry-After")).isPresent();
        assertThat(problem(refused).get("code").asString()).isEqualTo("DRAINING");
    }
}
