package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.harnesslearning.contracts.json.Json;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** A folder of ONNX Runtime GenAI, served over HTTP. */
class GenAiModelTest {
    private static final Path FOLDER = Path.of("../llm-runtime/src/test/resources/golden/genai")
            .toAbsolutePath()
            .normalize();

    @Test
    void a_folder_of_onnx_runtime_genai_is_served_like_any_model() {
        try (SolverServer server = new SolverServer(
                "--solver.discover=false",
                "--solver.models[0].name=tiny",
                "--solver.models[0].kind=local",
                "--solver.models[0].checkpoint=" + FOLDER,
                "--solver.adapters.max-resident=1")) {
            JsonNode info = Json.read(server.get("/v1/models").body(), JsonNode.class)
                    .get("data")
                    .get(0);
            assertThat(info.get("max_model_len").asInt()).isEqualTo(128);
            JsonNode answer = server.chat(
                    "{\"model\": \"tiny\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}],"
                            + " \"temperature\": 0, \"max_tokens\": 5, \"ignore_eos\": true, \"return_token_ids\": true}");
            assertThat(answer.get("weights_version")).isEqualTo(info.get("weights_hash"));
            assertThat(answer.at("/choices/0/token_ids")).hasSize(5);
            assertThat(answer.at("/choices/0/message/content").asString()).isNotEmpty();
        }
    }
}
