package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Loading, using and unloading adapters over HTTP, on a real small model. */
@RequiresModel
class AdapterApiTest {
    private static final int HIDDEN = 576;
    private static final int KEY_VALUES = 192;
    private static final String QUESTION =
            "\"messages\": [{\"role\": \"user\", \"content\": \"Name a colour.\"}], \"temperature\": 0, "
                    + "\"max_tokens\": 8, \"return_token_ids\": true";

    @TempDir
    private static Path folder;

    private static SolverServer server;

    @BeforeAll
    static void start() throws IOException {
        adapter(folder.resolve("adapters/strong"), 4, KEY_VALUES, 3);
        adapter(folder.resolve("adapters/other"), 2, KEY_VALUES, 4);
        adapter(folder.resolve("adapters/of-another-model"), 4, 256, 3);
        adapter(folder.resolve("adapters/wide"), 16, KEY_VALUES, 3);
        adapter(folder.resolve("outside"), 4, KEY_VALUES, 3);
        Files.createSymbolicLink(folder.resolve("adapters/link"), folder.resolve("outside"));
        server = new SolverServer(
                "--solver.discover=false",
                "--solver.models[0].name=solver",
                "--solver.models[0].kind=local",
                "--solver.models[0].checkpoint=" + SharedData.model("smollm2-135m"),
                "--solver.adapters.folder=" + folder.resolve("adapters"),
                "--solver.adapters.max-resident=2",
                "--solver.adapters.max-rank=8",
                "--solver.defaults.slots=2",
                "--solver.defaults.max-sequence=512");
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    /** An adapter of the value projections with random weights large enough to change every reply. */
    static void adapter(Path directory, int rank, int outputs, long seed) throws IOException {
        Files.createDirectories(directory);
        Files.writeString(
                directory.resolve("adapter_config.json"),
                "{\"peft_type\": \"LORA\", \"r\": %d, \"lora_alpha\": %d, \"target_modules\": [\"v_proj\"]}"
                        .formatted(rank, 8 * rank));
        Random random = new Random(seed);
        Map<String, Object> header = new LinkedHashMap<>();
        ByteArrayOutputStream data = new ByteArrayOutputStream();
        for (int layer = 0; layer < 30; layer++) {
            for (String factor : List.of("A", "B")) {
                int rows = factor.equals("A") ? rank : outputs;
                int columns = factor.equals("A") ? HIDDEN : rank;
                int begin = data.size();
                ByteBuffer values = ByteBuffer.allocate(4 * rows * columns).order(ByteOrder.LITTLE_ENDIAN);
                for (int i = 0; i < rows * columns; i++) {
                    values.putFloat((float) random.nextGaussian() * 0.05f);
                }
                data.writeBytes(values.array());
                header.put(
                        "base_model.model.model.layers.%d.self_attn.v_proj.lora_%s.weight".formatted(layer, factor),
                        Map.of(
                                "dtype",
                                "F32",
                                "shape",
                                List.of(rows, columns),
                                "data_offsets",
                                List.of(begin, data.size())));
            }
        }
        byte[] json = Json.write(header).getBytes(StandardCharsets.UTF_8);
        ByteBuffer file = ByteBuffer.allocate(8 + json.length + data.size()).order(ByteOrder.LITTLE_ENDIAN);
        file.putLong(json.length).put(json).put(data.toByteArray());
        Files.write(directory.resolve("adapter_model.safetensors"), file.array());
    }

    private static HttpResponse<String> load(String name, String path) {
        return server.post("/v1/load_lora_adapter", Json.write(Map.of("lora_name", name, "lora_path", path)));
    }

    private static HttpResponse<String> unload(String name) {
        return server.post("/v1/unload_lora_adapter", Json.write(Map.of("lora_name", name)));
    }

    private static void assertRefused(HttpResponse<String> response, int status, String code, String detail) {
        assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
        JsonNode problem = Json.read(response.body(), JsonNode.class);
        assertThat(problem.get("code").asString()).isEqualTo(code);
        assertThat(problem.get("detail").asString()).contains(detail).doesNotContain(folder.toString());
    }

    private static JsonNode answer(String model) {
        return server.chat("{\"model\": \"" + model + "\", " + QUESTION + "}");
    }

    @Test
    void an_adapter_is_a_model_from_loading_to_unloading() {
        JsonNode plain = answer("solver");
        HttpResponse<String> loaded = load("colours", "strong");
        assertThat(loaded.statusCode()).as(loaded.body()).isEqualTo(200);
        JsonNode info = Json.read(loaded.body(), JsonNode.class);
        assertThat(info.get("id").asString()).isEqualTo("colours");
        assertThat(info.get("parent").asString()).isEqualTo("solver");
        assertThat(load("colours", folder.resolve("adapters/strong").toString()).statusCode())
                .as("the same again, by its whole path")
                .isEqualTo(200);

        JsonNode models = Json.read(server.get("/v1/models").body(), JsonNode.class);
        assertThat(models.at("/data/1/id").asString()).isEqualTo("colours");
        assertThat(models.at("/data/1/parent").asString()).isEqualTo("solver");
        assertThat(models.at("/data/0/parent").isMissingNode()).isTrue();
        assertThat(models.at("/data/1/identity")).isNotEqualTo(models.at("/data/0/identity"));

        assertThat(server.get("/metrics").body())
                .contains("solver_lora_requests_info{adapter=\"colours\",model=\"solver\"} 1")
                .contains("solver_lora_adapter_requests{adapter=\"colours\",model=\"solver\"} 0.0");
        JsonNode adapted = answer("colours");
        assertThat(adapted.get("model").asString()).isEqualTo("colours");
        assertThat(adapted.at("/choices/0/token_ids")).isNotEqualTo(plain.at("/choices/0/token_ids"));
        assertThat(adapted.get("weights_version").asString())
                .isEqualTo(info.get("weights_hash").asString())
                .startsWith(plain.get("weights_version").asString() + "+sha256:");
        // With quantised weights a prompt from the cache is rounded elsewhere than a new one: only the beginning is
        // sure.
        JsonNode again = answer("solver");
        assertThat(again.get("weights_version")).isEqualTo(plain.get("weights_version"));
        assertThat(again.at("/choices/0/token_ids/0")).isEqualTo(plain.at("/choices/0/token_ids/0"));
        assertThat(server.post("/tokenize", "{\"model\": \"colours\", \"prompt\": \"a\"}")
                        .statusCode())
                .isEqualTo(200);

        assertRefused(load("colours", "other"), 409, "INVALID_STATE", "loaded with other content");
        HttpResponse<String> replaced = server.post(
                "/v1/load_lora_adapter",
                "{\"lora_name\": \"colours\", \"lora_path\": \"other\", \"load_inplace\": true}");
        assertThat(replaced.statusCode()).as(replaced.body()).isEqualTo(200);
        assertThat(answer("colours").get("weights_version"))
                .isEqualTo(Json.read(replaced.body(), JsonNode.class).get("weights_hash"))
                .isNotEqualTo(adapted.get("weights_version"));

        assertThat(unload("colours").statusCode()).isEqualTo(200);
        HttpResponse<String> gone = server.post("/v1/chat/completions", "{\"model\": \"colours\", " + QUESTION + "}");
        assertThat(gone.statusCode()).isEqualTo(404);
        assertThat(gone.body()).contains("UNKNOWN_MODEL");
        assertThat(Json.read(server.get("/v1/models").body(), JsonNode.class).get("data"))
                .hasSize(1);
        assertThat(server.get("/metrics").body())
                .doesNotContain("solver_lora_requests_info{", "solver_lora_adapter_requests{");
        assertRefused(unload("colours"), 404, "NOT_FOUND", "No adapter 'colours'");
    }

    @Test
    void what_cannot_be_loaded_is_refused_with_its_reason() {
        assertRefused(load("x", "../outside"), 400, "INVALID_FIELD", "outside the folder");
        assertRefused(load("x", folder.resolve("outside").toString()), 400, "INVALID_FIELD", "outside the folder");
        assertRefused(load("x", "link"), 400, "INVALID_FIELD", "outside the folder");
        assertRefused(load("x", "absent"), 400, "INVALID_FIELD", "no such folder");
        assertRefused(load("x", "."), 400, "INVALID_FIELD", "adapter_config.json: no such file");
        assertRefused(load("x", "of-another-model"), 400, "INVALID_FIELD", "blk.0.attn_v is (256, 576)");
        assertRefused(load("x", "wide"), 400, "INVALID_FIELD", "has rank 16, at most 8");
        assertRefused(load("solver", "strong"), 409, "INVALID_STATE", "configured model 'solver'");
        assertRefused(load("no such name", "strong"), 400, "INVALID_FIELD", "letters");
        assertRefused(
                server.post(
                        "/v1/load_lora_adapter",
                        "{\"lora_name\": \"x\", \"lora_path\": \"strong\", \"base_model_name\": \"y\"}"),
                server.post("/v1/chat/completions", "{\"model\": \"y\", " + QUESTION + "}")
                        .statusCode(),
                "UNKNOWN_MODEL",
                "No model 'y'");
        assertThat(Json.read(server.get("/v1/models").body(), JsonNode.class).get("data"))
                .hasSize(1);
    }
}
