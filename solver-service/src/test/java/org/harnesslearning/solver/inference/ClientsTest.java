package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.http.StreamResponse;
import com.openai.errors.BadRequestException;
import com.openai.errors.NotFoundException;
import com.openai.errors.RateLimitException;
import com.openai.errors.UnauthorizedException;
import com.openai.models.FunctionDefinition;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionTokenLogprob;
import com.openai.models.completions.Completion;
import com.openai.models.completions.CompletionChoice;
import com.openai.models.completions.CompletionCreateParams;
import com.openai.models.models.Model;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.harnesslearning.llm.EngineStatistics;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.ai.chat.messages.SystemMessage;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.openai.OpenAiChatModel;
import org.springframework.ai.openai.OpenAiChatOptions;

/** The API as its clients see it: the official OpenAI SDK and Spring AI, on a real small model. */
@RequiresModel
@SuppressWarnings("deprecation") // the SDK calls seed deprecated
class ClientsTest {
    private static SolverServer server;
    private static OpenAIClient client;
    private static OpenAiChatModel spring;

    @BeforeAll
    static void start() {
        server = new SolverServer(
                "--solver.discover=false",
                "--solver.models[0].name=solver",
                "--solver.models[0].kind=local",
                "--solver.models[0].checkpoint=" + SharedData.model("smollm2-135m"),
                "--solver.preload=solver",
                "--solver.defaults.slots=4",
                "--solver.defaults.max-queue=1",
                "--solver.defaults.max-sequence=1024");
        client = sdk(SolverServer.SECRET);
        spring = OpenAiChatModel.builder()
                .options(OpenAiChatOptions.builder()
                        .baseUrl(server.base() + "/v1")
                        .apiKey(SolverServer.SECRET)
                        .model("solver")
                        .temperature(0.0)
                        .maxTokens(12)
                        .build())
                .build();
        // The first call fills the prefix cache: later ones take the same path through the kernels.
        client.chat().completions().create(capital(16).build());
    }

    @AfterAll
    static void stop() {
        client.close();
        server.close();
    }

    private static OpenAIClient sdk(String key) {
        return OpenAIOkHttpClient.builder()
                .baseUrl(server.base() + "/v1")
                .apiKey(key)
                .maxRetries(0)
                .build();
    }

    private static ChatCompletionCreateParams.Builder capital(int maxTokens) {
        return ChatCompletionCreateParams.builder()
                .model("solver")
                .addSystemMessage("You answer briefly.")
                .addUserMessage("What is the capital of France?")
                .temperature(0.0)
                .maxCompletionTokens(maxTokens);
    }

    private static String text(ChatCompletion completion, int choice) {
        return completion.choices().get(choice).message().content().orElseThrow();
    }

    @Test
    void the_sdk_streams_what_it_completes_and_is_told_the_usage() {
        ChatCompletion completion =
                client.chat().completions().create(capital(16).build());
        assertThat(text(completion, 0)).isNotBlank();
        assertThat(completion.usage().orElseThrow().promptTokens()).isPositive();
        StringBuilder streamed = new StringBuilder();
        List<ChatCompletionChunk> chunks = new ArrayList<>();
        ChatCompletionCreateParams parameters = capital(16)
                .streamOptions(
                        ChatCompletionStreamOptions.builder().includeUsage(true).build())
                .build();
        try (StreamResponse<ChatCompletionChunk> stream =
                client.chat().completions().createStreaming(parameters)) {
            stream.stream().forEach(chunks::add);
        }
        chunks.stream()
                .flatMap(chunk -> chunk.choices().stream())
                .forEach(choice -> choice.delta().content().ifPresent(streamed::append));
        assertThat(streamed.toString()).isEqualTo(text(completion, 0));
        assertThat(chunks.getLast().choices()).isEmpty();
        assertThat(chunks.getLast().usage().orElseThrow().completionTokens())
                .isEqualTo(completion.usage().orElseThrow().completionTokens());
        assertThat(chunks)
                .allSatisfy(chunk ->
                        assertThat(chunk.id()).isEqualTo(chunks.getFirst().id()));
    }

    @Test
    void the_sdk_gets_choices_and_log_probabilities() {
        ChatCompletion completion = client.chat()
                .completions()
                .create(capital(6)
                        .temperature(1.0)
                        .seed(3)
                        .n(3)
                        .logprobs(true)
                        .topLogprobs(4)
                        .build());
        assertThat(completion.choices()).hasSize(3);
        completion.choices().forEach(choice -> {
            List<ChatCompletionTokenLogprob> tokens =
                    choice.logprobs().orElseThrow().content().orElseThrow();
            assertThat(tokens).isNotEmpty().allSatisfy(token -> {
                assertThat(token.logprob()).isLessThanOrEqualTo(0);
                assertThat(token.topLogprobs()).hasSize(4);
                double mass = token.topLogprobs().stream()
                        .mapToDouble(top -> Math.exp(top.logprob()))
                        .sum();
                assertThat(mass).isBetween(0.0, 1.0001);
            });
            StringBuilder text = new StringBuilder();
            tokens.forEach(token -> text.append(token.token()));
            assertThat(text.toString()).isEqualTo(choice.message().content().orElseThrow());
        });
        // The same seed again, with the log-probabilities of the same tokens piece by piece.
        StringBuilder pieces = new StringBuilder();
        try (StreamResponse<ChatCompletionChunk> stream = client.chat()
                .completions()
                .createStreaming(
                        capital(6).temperature(1.0).seed(3).n(3).logprobs(true).build())) {
            stream.stream()
                    .flatMap(chunk -> chunk.choices().stream())
                    .filter(choice -> choice.index() == 1)
                    .forEach(choice -> choice.logprobs()
                            .flatMap(ChatCompletionChunk.Choice.Logprobs::content)
                            .ifPresent(tokens -> tokens.forEach(token -> pieces.append(token.token()))));
        }
        assertThat(pieces.toString()).isEqualTo(text(completion, 1));
    }

    @Test
    void the_sdk_stops_where_it_says() {
        String full = text(client.chat().completions().create(capital(16).build()), 0);
        // From inside one word into the next.
        int space = full.indexOf(' ', 5);
        String stop = full.substring(space - 1, space + 2);
        ChatCompletion stopped =
                client.chat().completions().create(capital(16).stop(stop).build());
        assertThat(text(stopped, 0)).isEqualTo(full.substring(0, full.indexOf(stop)));
        assertThat(stopped.choices().getFirst().finishReason()).isEqualTo(ChatCompletion.Choice.FinishReason.STOP);
    }

    @Test
    void the_sdk_completes_texts_and_tokens() {
        CompletionCreateParams.Builder parameters = CompletionCreateParams.builder()
                .model("solver")
                .prompt("One, two, three,")
                .temperature(0.0)
                .maxTokens(6)
                .logprobs(2);
        client.completions().create(parameters.build());
        Completion completion = client.completions().create(parameters.build());
        CompletionChoice choice = completion.choices().getFirst();
        assertThat(choice.text()).contains("four");
        CompletionChoice.Logprobs logprobs = choice.logprobs().orElseThrow();
        assertThat(String.join("", logprobs.tokens().orElseThrow())).isEqualTo(choice.text());
        assertThat(logprobs.tokenLogprobs().orElseThrow()).hasSize(6);
        assertThat(logprobs.topLogprobs().orElseThrow()).hasSize(6);
        assertThat(logprobs.textOffset().orElseThrow().getLast())
                .isEqualTo(choice.text().length()
                        - logprobs.tokens().orElseThrow().getLast().length());
        assertThat(completion.usage().orElseThrow().completionTokens()).isEqualTo(6);

        String tokens = server.post("/tokenize", "{\"model\": \"solver\", \"prompt\": \"One, two, three,\"}")
                .body();
        List<Long> ids = new ArrayList<>();
        org.harnesslearning.contracts.json.Json.read(tokens, tools.jackson.databind.JsonNode.class)
                .get("tokens")
                .forEach(id -> ids.add(id.asLong()));
        assertThat(client.completions()
                        .create(parameters.promptOfArrayOfTokens(ids).build())
                        .choices()
                        .getFirst()
                        .text())
                .isEqualTo(choice.text());
        StringBuilder streamed = new StringBuilder();
        try (StreamResponse<Completion> stream =
                client.completions().createStreaming(parameters.n(2).build())) {
            stream.stream()
                    .flatMap(chunk -> chunk.choices().stream())
                    .filter(piece -> piece.index() == 1)
                    .forEach(piece -> streamed.append(piece.text()));
        }
        assertThat(streamed.toString()).isEqualTo(choice.text());
    }

    @Test
    void the_sdk_lists_models() {
        assertThat(client.models().list().data().stream().map(Model::id)).containsExactly("solver");
        assertThat(client.models().retrieve("solver").id()).isEqualTo("solver");
        assertThatThrownBy(() -> client.models().retrieve("other")).isInstanceOf(NotFoundException.class);
    }

    @Test
    void errors_are_the_sdks_own_exceptions() throws Exception {
        OpenAIClient stranger = sdk("another-secret");
        try {
            assertThatThrownBy(() ->
                            stranger.chat().completions().create(capital(1).build()))
                    .isInstanceOf(UnauthorizedException.class);
        } finally {
            stranger.close();
        }
        assertThatThrownBy(() -> client.chat()
                        .completions()
                        .create(capital(1).model("gpt-0").build()))
                .isInstanceOfSatisfying(NotFoundException.class, e -> {
                    assertThat(e.code()).contains("unknown_model");
                    assertThat(e.getMessage()).contains("No model 'gpt-0'");
                });
        assertThatThrownBy(
                        () -> client.chat().completions().create(capital(2000).build()))
                .isInstanceOfSatisfying(BadRequestException.class, e -> {
                    assertThat(e.param()).contains("max_tokens");
                    assertThat(e.getMessage()).contains("the context holds 1024");
                });
        assertThatThrownBy(() -> client.chat()
                        .completions()
                        .create(capital(5).addTool(tool()).build()))
                .isInstanceOf(BadRequestException.class)
                .hasMessageContaining("no place for tools");
        assertThatThrownBy(() -> client.chat()
                        .completions()
                        .create(capital(5)
                                .logitBias(ChatCompletionCreateParams.LogitBias.builder()
                                        .putAdditionalProperty("7", com.openai.core.JsonValue.from(1))
                                        .build())
                                .build()))
                .isInstanceOf(BadRequestException.class)
                .hasMessageContaining("logit_bias");
    }

    private static com.openai.models.chat.completions.ChatCompletionFunctionTool tool() {
        return com.openai.models.chat.completions.ChatCompletionFunctionTool.builder()
                .function(FunctionDefinition.builder().name("weather").build())
                .build();
    }

    @Test
    void a_full_queue_is_the_sdks_rate_limit_exception() throws Exception {
        List<CompletableFuture<HttpResponse<String>>> occupying = new ArrayList<>();
        String body = "{\"model\": \"solver\", \"messages\": [{\"role\": \"user\", \"content\": \"Tell a story.\"}],"
                + " \"n\": 4, \"max_tokens\": 900, \"ignore_eos\": true}";
        try {
            // The first takes all slots, the second the only place in the queue.
            for (int i = 0; i < 2; i++) {
                String id = "full-" + i;
                occupying.add(CompletableFuture.supplyAsync(
                        () -> server.send(HttpRequest.newBuilder(server.base().resolve("/v1/chat/completions"))
                                .header("X-Internal-Secret", SolverServer.SECRET)
                                .header("X-Request-Id", id)
                                .header("Content-Type", "application/json")
                                .POST(HttpRequest.BodyPublishers.ofString(body)))));
                int expected = i;
                Await.until(() -> statistics().running() == 4 && statistics().waiting() == expected);
            }
            assertThatThrownBy(
                            () -> client.chat().completions().create(capital(1).build()))
                    .isInstanceOfSatisfying(RateLimitException.class, e -> {
                        assertThat(e.headers().values("retry-after")).isNotEmpty();
                        assertThat(e.code()).contains("queue_full");
                    });
        } finally {
            for (int i = 0; i < occupying.size(); i++) {
                assertThat(server.post("/v1/requests/full-" + i + "/cancel", "").statusCode())
                        .isEqualTo(202);
            }
        }
        for (CompletableFuture<HttpResponse<String>> answer : occupying) {
            assertThat(answer.get().statusCode()).isEqualTo(200);
            assertThat(answer.get().body()).contains("\"finish_reason\":\"cancelled\"");
        }
        assertThat(server.post("/v1/requests/full-0/cancel", "").statusCode()).isEqualTo(404);
    }

    private static EngineStatistics statistics() {
        return server.context.getBean(ModelRegistry.class).get("solver").statistics();
    }

    @Test
    void spring_ai_calls_and_streams() {
        Prompt prompt = new Prompt(
                List.of(new SystemMessage("You answer briefly."), new UserMessage("What is the capital of France?")));
        ChatResponse answer = spring.call(prompt);
        String text = answer.getResult().getOutput().getText();
        assertThat(text).isNotBlank();
        assertThat(answer.getMetadata().getUsage().getPromptTokens()).isPositive();
        assertThat(answer.getMetadata().getUsage().getCompletionTokens()).isBetween(1, 12);
        StringBuilder streamed = new StringBuilder();
        spring.stream(prompt)
                .toStream()
                .filter(part ->
                        part.getResult() != null && part.getResult().getOutput().getText() != null)
                .forEach(part -> streamed.append(part.getResult().getOutput().getText()));
        assertThat(streamed.toString()).isEqualTo(text);
    }

    @Test
    void spring_ai_passes_its_options() {
        ChatResponse answer = spring.call(new Prompt(
                "Count from one to ten.",
                OpenAiChatOptions.builder()
                        .model("solver")
                        .n(2)
                        .temperature(1.0)
                        .topP(0.9)
                        .seed(5)
                        .maxTokens(8)
                        .presencePenalty(0.5)
                        .frequencyPenalty(0.5)
                        .stop(List.of("seven"))
                        .build()));
        assertThat(answer.getResults()).hasSize(2);
        assertThatThrownBy(() -> spring.call(new Prompt(
                        "x", OpenAiChatOptions.builder().model("gpt-0").build())))
                .isInstanceOf(NotFoundException.class);
    }
}
