package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.llm.EngineStatistics;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Field by field: what the API takes, what it does with it, what it refuses, and what it counts. */
@RequiresModel
class ApiTest {
    @TempDir
    static Path folder;

    private static SolverServer server;

    @BeforeAll
    static void start() throws IOException {
        server = new SolverServer(
                "--solver.discover=false",
                "--solver.models[0].name=solver",
                "--solver.models[0].kind=local",
                "--solver.models[0].checkpoint=" + SharedData.model("smollm2-135m"),
                "--solver.models[1].name=damaged",
                "--solver.models[1].kind=local",
                "--solver.models[1].checkpoint=" + Files.writeString(folder.resolve("damaged.gguf"), "GGUF\0\0"),
                "--solver.preload=solver",
                "--solver.defaults.slots=2",
                "--solver.defaults.max-sequence=512");
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    private static JsonNode complete(String fields) {
        HttpResponse<String> response = server.post("/v1/completions", "{\"model\": \"solver\", " + fields + "}");
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        return Json.read(response.body(), JsonNode.class);
    }

    private static List<String> faults(String path, String fields) {
        HttpResponse<String> response = server.post(path, "{\"model\": \"solver\", " + fields + "}");
        assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
        JsonNode problem = Json.read(response.body(), JsonNode.class);
        assertThat(problem.at("/error/message").asString()).isNotBlank();
        return problem.get("errors")
                .valueStream()
                .map(error -> error.get("pointer").asString())
                .toList();
    }

    private static List<Integer> ids(JsonNode list) {
        return list.valueStream().map(JsonNode::asInt).toList();
    }

    private static EngineStatistics statistics() {
        return server.context.getBean(ModelRegistry.class).get("solver").statistics();
    }

    @Test
    void penalties_make_repetition_rare_and_log_probabilities_remain_those_of_a_softmax() {
        String fields = "\"prompt\": \"a a a a a a a a\", \"temperature\": 0, \"max_tokens\": 24, \"ignore_eos\": true,"
                + " \"return_token_ids\": true, \"logprobs\": 20";
        List<Integer> plain = ids(complete(fields).at("/choices/0/token_ids"));
        JsonNode answer = complete(fields + ", \"frequency_penalty\": 2, \"presence_penalty\": 2");
        List<Integer> penalised = ids(answer.at("/choices/0/token_ids"));
        assertThat(new HashSet<>(penalised).size()).isGreaterThan(new HashSet<>(plain).size());
        // Nothing has been said yet when the first token is chosen.
        assertThat(penalised.getFirst()).isEqualTo(plain.getFirst());
        answer.at("/choices/0/logprobs/top_logprobs").forEach(likeliest -> {
            double mass = likeliest
                    .valueStream()
                    .mapToDouble(value -> Math.exp(value.asDouble()))
                    .sum();
            assertThat(mass).isBetween(0.01, 1.0001);
        });
        List<Integer> repetition =
                ids(complete(fields + ", \"repetition_penalty\": 2").at("/choices/0/token_ids"));
        assertThat(repetition).isNotEqualTo(plain);
    }

    @Test
    void a_min_p_of_one_leaves_the_likeliest_token_alone() {
        String fields = "\"prompt\": \"The sky is\", \"max_tokens\": 8, \"return_token_ids\": true";
        complete(fields + ", \"temperature\": 0");
        List<Integer> greedy = ids(complete(fields + ", \"temperature\": 0").at("/choices/0/token_ids"));
        assertThat(ids(complete(fields + ", \"temperature\": 1.5, \"min_p\": 1, \"seed\": 4")
                        .at("/choices/0/token_ids")))
                .isEqualTo(greedy);
    }

    @Test
    void stop_tokens_end_a_text_and_are_not_part_of_it() {
        String fields =
                "\"prompt\": \"One, two, three,\", \"temperature\": 0, \"max_tokens\": 8, \"return_token_ids\": true";
        complete(fields);
        List<Integer> full = ids(complete(fields).at("/choices/0/token_ids"));
        int stop = full.get(3);
        JsonNode stopped = complete(fields + ", \"stop_token_ids\": [" + stop + "]");
        assertThat(ids(stopped.at("/choices/0/token_ids"))).isEqualTo(full.subList(0, full.indexOf(stop)));
        assertThat(stopped.at("/choices/0/finish_reason").asString()).isEqualTo("stop");
    }

    @Test
    void unsupported_wishes_are_refused_by_name() {
        String chat = "\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]";
        assertThat(faults("/v1/chat/completions", chat + ", \"response_format\": {\"type\": \"json_object\"}"))
                .containsExactly("/response_format");
        assertThat(
                        faults(
                                "/v1/chat/completions",
                                chat
                                        + ", \"response_format\": {\"type\": \"json_schema\", \"json_schema\": {\"name\": \"x\"}}"))
                .containsExactly("/response_format");
        String tools = ", \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"f\"}}]";
        assertThat(faults("/v1/chat/completions", chat + tools)).containsExactly("/tools");
        assertThat(faults("/v1/chat/completions", chat + tools + ", \"tool_choice\": \"required\""))
                .containsExactly("/tool_choice");
        assertThat(faults("/v1/chat/completions", chat + ", \"tools\": [{\"type\": \"search\"}]"))
                .containsExactly("/tools/0");
        assertThat(faults("/v1/chat/completions", chat + ", \"parallel_tool_calls\": false"))
                .containsExactly("/parallel_tool_calls");
        assertThat(faults("/v1/chat/completions", chat + ", \"max_tokens\": 3, \"max_completion_tokens\": 4"))
                .containsExactly("/max_tokens");
        assertThat(faults("/v1/chat/completions", chat + ", \"stream_options\": {\"include_usage\": true}"))
                .containsExactly("/stream_options");
        assertThat(faults(
                        "/v1/chat/completions",
                        chat + ", \"min_p\": 2, \"presence_penalty\": 3, \"frequency_penalty\": -3"))
                .containsExactly("/min_p", "/presence_penalty", "/frequency_penalty");
        for (String field :
                List.of("logit_bias", "functions", "audio", "prediction", "reasoning_effort", "service_tier")) {
            assertThat(faults("/v1/chat/completions", chat + ", \"" + field + "\": 1"))
                    .containsExactly("/" + field);
        }
        assertThat(faults(
                        "/v1/completions",
                        "\"prompt\": \"x\", \"echo\": true, \"suffix\": \"y\", \"best_of\": 3, \"logprobs\": 50"))
                .containsExactly("/echo", "/suffix", "/best_of", "/logprobs");
        assertThat(faults("/v1/completions", "\"prompt\": [\"x\", \"y\"]")).containsExactly("/prompt");
        assertThat(faults("/v1/completions", "\"prompt\": []")).containsExactly("/prompt");
        assertThat(faults("/v1/completions", "\"prompt\": [1, 99999999]")).containsExactly("/prompt");
        assertThat(faults("/v1/completions", "\"prompt\": \"\"")).containsExactly("/prompt");
        assertThat(faults("/v1/completions", "\"prompt\": \"x\", \"max_tokens\": 600"))
                .containsExactly("/max_tokens");
        assertThat(faults("/v1/completions", "\"prompt\": \"x\", \"use_beam_search\": true"))
                .containsExactly("/use_beam_search");
        // A choice of no tools is one that any model can make.
        assertThat(server.post(
                                "/v1/chat/completions",
                                "{\"model\": \"solver\", \"max_tokens\": 1, " + chat + tools
                                        + ", \"tool_choice\": \"none\"}")
                        .statusCode())
                .isEqualTo(200);
    }

    @Test
    void the_tokenizer_answers_as_that_of_vllm_does() {
        JsonNode plain = Json.read(
                server.post(
                                "/tokenize",
                                "{\"model\": \"solver\", \"prompt\": \"Hello wörld<|im_end|>\", \"return_token_strs\": true}")
                        .body(),
                JsonNode.class);
        assertThat(plain.get("count").asInt()).isEqualTo(plain.get("tokens").size());
        assertThat(plain.get("max_model_len").asInt()).isEqualTo(512);
        assertThat(plain.get("token_strs").get(0).asString()).isEqualTo("Hello");
        assertThat(plain.get("token_strs").valueStream().map(JsonNode::asString).toList())
                .endsWith("<|im_end|>");
        assertThat(Json.read(
                                server.post(
                                                "/detokenize",
                                                "{\"model\": \"solver\", \"tokens\": " + plain.get("tokens") + "}")
                                        .body(),
                                JsonNode.class)
                        .get("prompt")
                        .asString())
                .isEqualTo("Hello wörld<|im_end|>");
        String chat = "{\"model\": \"solver\", \"messages\": [{\"role\": \"user\", \"content\": \"x\"}]";
        String opened = chatText(chat + "}");
        assertThat(opened).endsWith("<|im_start|>assistant\n");
        assertThat(chatText(chat + ", \"add_generation_prompt\": false}"))
                .isEqualTo(opened.substring(0, opened.length() - "<|im_start|>assistant\n".length()));
        assertThat(chatText("{\"model\": \"solver\", \"messages\": [{\"role\": \"user\", \"content\": \"x\"},"
                        + " {\"role\": \"assistant\", \"content\": \"y\"}], \"continue_final_message\": true}"))
                .endsWith("<|im_start|>assistant\ny");
        assertThat(faults("/detokenize", "\"tokens\": [-1]")).containsExactly("/tokens");
    }

    private static String chatText(String body) {
        JsonNode tokens =
                Json.read(server.post("/tokenize", body).body(), JsonNode.class).get("tokens");
        return Json.read(
                        server.post("/detokenize", "{\"model\": \"solver\", \"tokens\": " + tokens + "}")
                                .body(),
                        JsonNode.class)
                .get("prompt")
                .asString();
    }

    @Test
    void a_streamed_reply_carries_the_same_tokens_as_a_whole_one() {
        String fields = "\"model\": \"solver\", \"messages\": [{\"role\": \"user\", \"content\": \"Count to five.\"}],"
                + " \"temperature\": 0, \"max_tokens\": 20, \"logprobs\": true, \"return_token_ids\": true, \"stop\": [\"3\"]";
        server.chat("{" + fields + "}");
        JsonNode whole = server.chat("{" + fields + "}");
        List<Integer> ids = new ArrayList<>();
        StringBuilder text = new StringBuilder();
        int logprobs = 0;
        JsonNode last = null;
        for (String line : server.post("/v1/chat/completions", "{" + fields + ", \"stream\": true}")
                .body()
                .split("\n\n")) {
            if (line.startsWith("data: {")) {
                last = Json.read(line.substring(6), JsonNode.class);
                ids.addAll(ids(last.at("/choices/0/token_ids")));
                text.append(last.at("/choices/0/delta/content").asString(""));
                logprobs += last.at("/choices/0/logprobs/content").size();
            }
        }
        assertThat(text.toString())
                .isEqualTo(whole.at("/choices/0/message/content").asString());
        assertThat(ids).isEqualTo(ids(whole.at("/choices/0/token_ids")));
        assertThat(logprobs).isEqualTo(ids.size());
        assertThat(last).isNotNull();
        assertThat(last.get("prompt_token_ids")).isEqualTo(whole.get("prompt_token_ids"));
        assertThat(last.get("weights_version")).isEqualTo(whole.get("weights_version"));
    }

    @Test
    void a_request_is_cancelled_by_its_id() throws Exception {
        CompletableFuture<HttpResponse<String>> answer = CompletableFuture.supplyAsync(
                () -> server.send(
                        HttpRequest.newBuilder(server.base().resolve("/v1/completions"))
                                .header("X-Internal-Secret", SolverServer.SECRET)
                                .header("X-Request-Id", "to-be-cancelled")
                                .header("Content-Type", "application/json")
                                .POST(
                                        HttpRequest.BodyPublishers.ofString(
                                                "{\"model\": \"solver\", \"prompt\": \"x\", \"max_tokens\": 500, \"ignore_eos\": true}"))));
        Await.until(() -> statistics().running() == 1);
        assertThat(server.post("/v1/requests/another/cancel", "").statusCode()).isEqualTo(404);
        assertThat(server.post("/v1/requests/to-be-cancelled/cancel", "").statusCode())
                .isEqualTo(202);
        assertThat(answer.get().body()).contains("\"finish_reason\":\"cancelled\"");
        assertThat(answer.get().headers().firstValue("X-Request-Id")).hasValue("to-be-cancelled");
        Await.until(() -> statistics().running() == 0);
    }

    @Test
    void a_model_that_cannot_be_loaded_says_why_and_the_others_go_on() {
        for (int i = 0; i < 2; i++) {
            HttpResponse<String> response =
                    server.post("/v1/completions", "{\"model\": \"damaged\", \"prompt\": \"x\"}");
            assertThat(response.statusCode()).isEqualTo(503);
            assertThat(response.headers().firstValue("Retry-After")).hasValue("30");
            assertThat(response.body()).contains("SOLVER_UNAVAILABLE", "cannot be loaded", "damaged.gguf");
        }
        assertThat(server.get("/v1/models").body()).contains("\"solver\"").doesNotContain("damaged");
        assertThat(server.get("/livez").statusCode()).isEqualTo(200);
        complete("\"prompt\": \"x\", \"max_tokens\": 1");
    }

    @Test
    void answers_tell_where_the_time_went() {
        JsonNode timings = complete("\"prompt\": \"x\", \"max_tokens\": 5, \"ignore_eos\": true")
                .get("timings");
        assertThat(timings.get("time_to_first_token_ms").asDouble())
                .isGreaterThanOrEqualTo(timings.get("queue_time_ms").asDouble());
        assertThat(timings.get("generation_time_ms").asDouble()).isPositive();
        assertThat(timings.get("mean_itl_ms").asDouble()).isPositive();
        assertThat(timings.get("tokens_per_second").asDouble()).isPositive();
    }

    @Test
    void the_meters_have_the_names_and_bucket_edges_that_dashboards_expect() {
        complete("\"prompt\": \"x\", \"max_tokens\": 3, \"ignore_eos\": true");
        server.post("/v1/completions", "{\"model\": \"solver\", \"prompt\": \"x\", \"max_tokens\": 9999}");
        String meters = server.get("/metrics").body();
        for (String gauge :
                List.of("solver_requests_running", "solver_requests_waiting", "solver_kv_cache_usage_perc")) {
            assertThat(meters).contains("\n" + gauge + "{model=\"solver\"}");
        }
        for (String counter : List.of(
                "solver_prompt_tokens_total",
                "solver_generation_tokens_total",
                "solver_prefix_cache_queries_total",
                "solver_prefix_cache_hits_total")) {
            assertThat(meters).contains("\n" + counter + "{model=\"solver\"}");
        }
        assertThat(meters).contains("solver_request_success_total{finished_reason=\"length\",model=\"solver\"}");
        Set<String> latency = edges(meters, "solver_e2e_request_latency_seconds");
        assertThat(latency)
                .isEqualTo(Set.of(
                        ("0.3 0.5 0.8 1.0 1.5 2.0 2.5 5.0 10.0 15.0 20.0 30.0 40.0 50.0 60.0 120.0 240.0 480.0 960.0"
                                        + " 1920.0 7680.0 +Inf")
                                .split(" ")));
        for (String timer : List.of("queue", "prefill", "decode", "inference")) {
            assertThat(edges(meters, "solver_request_" + timer + "_time_seconds"))
                    .isEqualTo(latency);
        }
        assertThat(edges(meters, "solver_time_to_first_token_seconds"))
                .hasSize(23)
                .contains("0.001", "0.005", "0.04", "0.25", "7.5", "160.0", "2560.0");
        assertThat(edges(meters, "solver_time_per_output_token_seconds"))
                .hasSize(20)
                .contains("0.01", "0.025", "0.075", "0.15", "2.5", "80.0");
        Set<String> tokens = edges(meters, "solver_request_prompt_tokens");
        assertThat(tokens).contains("1.0", "2.0", "5.0", "500.0", "50000.0");
        assertThat(edges(meters, "solver_request_generation_tokens")).isEqualTo(tokens);
        assertThat(edges(meters, "solver_request_params_max_tokens")).isEqualTo(tokens);
        assertThat(edges(meters, "solver_request_params_n"))
                .isEqualTo(Set.of("1.0", "2.0", "5.0", "10.0", "20.0", "+Inf"));
        assertThat(edges(meters, "solver_iteration_tokens"))
                .isEqualTo(Set.of(("1.0 8.0 16.0 32.0 64.0 128.0 256.0 512.0 1024.0 2048.0 4096.0 8192.0 16384.0 +Inf")
                        .split(" ")));
    }

    private static Set<String> edges(String meters, String name) {
        Set<String> edges = new HashSet<>();
        Matcher matcher = Pattern.compile(Pattern.quote(name) + "_bucket\\{model=\"solver\",le=\"([^\"]+)\"\\}")
                .matcher(meters);
        while (matcher.find()) {
            edges.add(matcher.group(1));
        }
        return edges;
    }
}
