package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;

import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.http.StreamResponse;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.models.Model;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.llm.EngineStatistics;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** The API on a real small model, through a real port. */
@RequiresModel
class LocalModelTest {
    private static final String HELLO = "\"messages\": [{\"role\": \"user\", \"content\": \"Count from one to ten.\"}]";

    private static SolverServer server;

    @BeforeAll
    static void start() {
        server = new SolverServer(
                "--solver.discover=false",
                "--solver.models[0].name=solver",
                "--solver.models[0].kind=local",
                "--solver.models[0].checkpoint=" + SharedData.model("smollm2-135m"),
                "--solver.models[1].name=proposer",
                "--solver.models[1].kind=local",
                "--solver.models[1].checkpoint=" + SharedData.model("smollm2-135m"),
                "--solver.preload=solver",
                "--solver.defaults.slots=2",
                "--solver.defaults.max-queue=2",
                "--solver.defaults.max-sequence=1024");
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    private static JsonNode chat(String fields) {
        return server.chat("{\"model\": \"solver\", " + HELLO + ", " + fields + "}");
    }

    private static String text(JsonNode answer, int choice) {
        return answer.at("/choices/" + choice + "/message/content").asString();
    }

    private static EngineStatistics statistics() {
        return server.context.getBean(ModelRegistry.class).get("solver").statistics();
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        Instant end = Instant.now().plus(Duration.ofSeconds(30));
        while (!condition.getAsBoolean()) {
            assertThat(Instant.now()).isBefore(end);
            Thread.sleep(10);
        }
    }

    @Test
    void token_ids_logprobs_usage_and_timings_fit_together() {
        JsonNode answer = chat(
                "\"temperature\": 0, \"max_tokens\": 12, \"return_token_ids\": true, \"logprobs\": true, \"top_logprobs\": 2");
        JsonNode tokens = Json.read(
                server.post("/tokenize", "{\"model\": \"solver\", " + HELLO + "}")
                        .body(),
                JsonNode.class);
        assertThat(answer.get("prompt_token_ids")).isEqualTo(tokens.get("tokens"));
        assertThat(tokens.get("max_model_len").asInt()).isEqualTo(1024);
        int generated = answer.at("/choices/0/token_ids").size();
        assertThat(answer.at("/usage/completion_tokens").asInt()).isEqualTo(generated);
        assertThat(answer.at("/usage/prompt_tokens").asInt())
                .isEqualTo(tokens.get("count").asInt());
        assertThat(answer.at("/choices/0/logprobs/content")).hasSize(generated);
        JsonNode first = answer.at("/choices/0/logprobs/content/0");
        assertThat(first.get("logprob").asDouble()).isLessThanOrEqualTo(0);
        assertThat(first.get("top_logprobs")).hasSize(2);
        // Greedy: the likeliest alternative is the token itself.
        assertThat(first.at("/top_logprobs/0/token").asString())
                .isEqualTo(first.get("token").asString());
        assertThat(answer.get("weights_version").asString())
                .isEqualTo("sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53");
        assertThat(answer.at("/timings/time_to_first_token_ms").asDouble()).isPositive();
        String back = Json.read(
                        server.post(
                                        "/detokenize",
                                        "{\"model\": \"solver\", \"tokens\": " + answer.at("/choices/0/token_ids")
                                                + "}")
                                .body(),
                        JsonNode.class)
                .get("prompt")
                .asString();
        assertThat(back).isEqualTo(text(answer, 0));
    }

    @Test
    void the_same_seeds_give_the_same_replies() {
        // The first call fills the prefix cache: later ones take the same path through the kernels.
        chat("\"temperature\": 0, \"max_tokens\": 1");
        String fields = "\"temperature\": 1.0, \"max_tokens\": 8, \"n\": 2, \"seed\": 7";
        JsonNode once = chat(fields);
        JsonNode again = chat(fields);
        assertThat(once.get("choices")).hasSize(2);
        assertThat(text(again, 0)).isEqualTo(text(once, 0));
        assertThat(text(again, 1)).isEqualTo(text(once, 1));
        assertThat(text(once, 0)).isNotEqualTo(text(once, 1));
        String single = text(chat("\"temperature\": 1.0, \"max_tokens\": 8, \"seeds\": [9]"), 0);
        assertThat(text(chat("\"temperature\": 1.0, \"max_tokens\": 8, \"seeds\": [9]"), 0))
                .isEqualTo(single);
        assertThat(chat("\"temperature\": 1.0, \"max_tokens\": 4, \"n\": 3, \"seeds\": [1, 2, 3]")
                        .get("choices"))
                .hasSize(3);
    }

    @Test
    void a_stop_string_ends_the_reply_wherever_tokens_end() {
        String full = text(chat("\"temperature\": 0, \"max_tokens\": 24"), 0);
        assertThat(full.length()).isGreaterThan(12);
        // From the middle of one word into the next: no token ends there.
        int space = full.indexOf(' ', 5);
        String stop = full.substring(space - 1, space + 2);
        JsonNode stopped = chat("\"temperature\": 0, \"max_tokens\": 24, \"stop\": " + Json.write(List.of(stop)));
        assertThat(text(stopped, 0)).isEqualTo(full.substring(0, full.indexOf(stop)));
        assertThat(stopped.at("/choices/0/finish_reason").asString()).isEqualTo("stop");
        assertThat(stopped.at("/usage/completion_tokens").asInt()).isLessThan(24);
    }

    @Test
    void a_reply_continues_the_message_that_was_begun() {
        JsonNode answer = server.chat("""
                {"model": "solver", "messages": [{"role": "user", "content": "Count from one to ten."},
                 {"role": "assistant", "content": "One, two, three,"}], "continue_final_message": true,
                 "temperature": 0, "max_tokens": 6, "return_token_ids": true}""");
        assertThat(text(answer, 0).toLowerCase(java.util.Locale.ROOT)).contains("four");
        String prompt = Json.read(
                        server.post(
                                        "/detokenize",
                                        "{\"model\": \"solver\", \"tokens\": " + answer.get("prompt_token_ids") + "}")
                                .body(),
                        JsonNode.class)
                .get("prompt")
                .asString();
        assertThat(prompt).endsWith("<|im_start|>assistant\nOne, two, three,");
    }

    @Test
    void what_does_not_fit_into_the_context_is_refused() {
        HttpResponse<String> long1 =
                server.post("/v1/chat/completions", "{\"model\": \"solver\", " + HELLO + ", \"max_tokens\": 1020}");
        assertThat(long1.statusCode()).isEqualTo(400);
        assertThat(long1.body()).contains("INVALID_FIELD", "/max_tokens", "1024");
        HttpResponse<String> long2 = server.post(
                "/v1/chat/completions",
                "{\"model\": \"solver\", \"messages\": [{\"role\": \"user\", \"content\": \"" + "word ".repeat(2000)
                        + "\"}]}");
        assertThat(long2.body()).contains("INVALID_FIELD", "/messages");
    }

    @Test
    void two_names_share_one_model() {
        assertThat(server.context.getBean(ModelRegistry.class).get("proposer").statistics())
                .isNotNull();
        JsonNode models = Json.read(server.get("/v1/models").body(), JsonNode.class);
        assertThat(models.at("/data/0/identity")).isEqualTo(models.at("/data/1/identity"));
        assertThat(models.at("/data/0/kind").asString()).isEqualTo("local");
        assertThat(models.at("/data/0/weights_hash").asString()).startsWith("sha256:b179");
        assertThat(models.at("/data/0/number_type").asString()).isEqualTo("q4_1");
        assertThat(models.at("/data/0/max_model_len").asInt()).isEqualTo(1024);
    }

    @Test
    void a_full_queue_answers_429_with_retry_after() throws Exception {
        try (ExecutorService pool = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<HttpResponse<String>>> answers = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                answers.add(pool.submit(() -> server.post(
                        "/v1/chat/completions",
                        "{\"model\": \"solver\", " + HELLO + ", \"temperature\": 0, \"max_tokens\": 40}")));
            }
            int refused = 0;
            for (Future<HttpResponse<String>> answer : answers) {
                HttpResponse<String> response = answer.get();
                if (response.statusCode() == 429) {
                    refused++;
                    assertThat(response.headers().firstValue("Retry-After")).isPresent();
                    assertThat(response.body()).contains("QUEUE_FULL");
                } else {
                    assertThat(response.statusCode()).isEqualTo(200);
                }
            }
            assertThat(refused).isBetween(1, 8);
        }
    }

    @Test
    void a_client_that_goes_away_ends_its_generation() throws Exception {
        String body =
                "{\"model\": \"solver\", \"messages\": [{\"role\": \"user\", \"content\": \"Tell a very long story.\"}],"
                        + " \"temperature\": 0, \"max_tokens\": 900, \"seed\": 1}";
        for (String extra : List.of("", ", \"stream\": true")) {
            await(() -> statistics().running() == 0);
            String request = body.substring(0, body.length() - 1) + extra + "}";
            try (Socket socket = new Socket("127.0.0.1", server.base().getPort())) {
                socket.getOutputStream().write(raw(request).getBytes(StandardCharsets.UTF_8));
                socket.getOutputStream().flush();
                await(() -> statistics().running() == 1);
            }
            long before = statistics().generationTokens();
            await(() -> statistics().running() == 0);
            assertThat(statistics().generationTokens() - before).isLessThan(600);
        }
    }

    private static String raw(String body) {
        return "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-Internal-Secret: " + SolverServer.SECRET
                + "\r\nContent-Type: application/json\r\nContent-Length: "
                + body.getBytes(StandardCharsets.UTF_8).length + "\r\n\r\n" + body;
    }

    @Test
    void the_official_client_completes_streams_and_lists() throws IOException {
        OpenAIClient client = OpenAIOkHttpClient.builder()
                .baseUrl(server.base() + "/v1")
                .apiKey(SolverServer.SECRET)
                .build();
        try {
            ChatCompletionCreateParams parameters = ChatCompletionCreateParams.builder()
                    .model("solver")
                    .addSystemMessage("You answer briefly.")
                    .addUserMessage("What is the capital of France?")
                    .temperature(0.0)
                    .maxCompletionTokens(16)
                    .build();
            // The first call fills the prefix cache: later ones take the same path through the kernels.
            client.chat().completions().create(parameters);
            ChatCompletion completion = client.chat().completions().create(parameters);
            String text = completion.choices().getFirst().message().content().orElseThrow();
            assertThat(text).isNotBlank();
            assertThat(completion.usage().orElseThrow().promptTokens()).isPositive();
            StringBuilder streamed = new StringBuilder();
            try (StreamResponse<ChatCompletionChunk> stream =
                    client.chat().completions().createStreaming(parameters)) {
                stream.stream()
                        .flatMap(chunk -> chunk.choices().stream())
                        .forEach(choice -> choice.delta().content().ifPresent(streamed::append));
            }
            assertThat(streamed.toString()).isEqualTo(text);
            assertThat(client.models().list().data().stream().map(Model::id)).containsExactly("solver", "proposer");
        } finally {
            client.close();
        }
    }

    @Test
    void a_stream_ends_with_reason_usage_and_done() {
        HttpResponse<String> response = server.post(
                "/v1/chat/completions",
                "{\"model\": \"solver\", " + HELLO
                        + ", \"temperature\": 0, \"max_tokens\": 5, \"stream\": true, \"stream_options\": {\"include_usage\": true}}");
        assertThat(response.headers().firstValue("Content-Type").orElse("")).startsWith("text/event-stream");
        assertThat(response.body()).endsWith("data: [DONE]\n\n");
        assertThat(response.body()).contains("\"finish_reason\":\"length\"", "\"completion_tokens\":5");
        assertThat(server.post(
                                "/v1/chat/completions",
                                "{\"model\": \"solver\", " + HELLO + ", \"max_tokens\": 2000, \"stream\": true}")
                        .statusCode())
                .isEqualTo(400);
    }

    @Test
    void meters_count_what_was_done() {
        chat("\"temperature\": 0, \"max_tokens\": 3");
        assertThat(server.get("/metrics").body())
                .contains(
                        "solver_prompt_tokens_total",
                        "solver_generation_tokens_total",
                        "solver_request_success_total",
                        "finished_reason=\"length\"",
                        "solver_time_to_first_token_seconds_bucket",
                        "solver_e2e_request_latency_seconds_bucket",
                        "solver_kv_cache_usage_perc");
        assertThat(server.get("/livez").statusCode()).isEqualTo(200);
    }
}
