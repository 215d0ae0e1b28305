package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.List;
import org.flywaydb.core.Flyway;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.store.model.AliasChange;
import org.harnesslearning.store.model.ModelAliasStore;
import org.harnesslearning.store.model.ModelVersionRow;
import org.harnesslearning.store.model.ModelVersionStore;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.SharedData;
import org.harnesslearning.testing.TestPostgres;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

/** Names and versions of the model registry, at replicas of the real service with a real small model. */
@RequiresModel
@RequiresPostgres
class RegistryModelsTest {
    private static final String QUESTION =
            "\"messages\": [{\"role\": \"user\", \"content\": \"Name a colour.\"}], \"temperature\": 0, "
                    + "\"max_tokens\": 6, \"return_token_ids\": true";

    @TempDir
    private static Path folder;

    private static String database;
    private static JdbcClient jdbc;
    private static ModelAliasStore aliases;
    private static String first;
    private static String second;

    @BeforeAll
    static void store() throws IOException {
        database = TestPostgres.createDatabase();
        Flyway.configure().dataSource(TestPostgres.dataSource(database)).load().migrate();
        jdbc = JdbcClient.create(TestPostgres.dataSource(database));
        aliases = new ModelAliasStore(jdbc, Clock.systemUTC());
        first = version(3);
        second = version(4);
    }

    private static String version(long seed) throws IOException {
        Path adapter = folder.resolve("adapter-" + seed);
        AdapterApiTest.adapter(adapter, 4, 192, seed);
        String hash = LoraAdapter.read(adapter).hash();
        byte[] config = Files.readAllBytes(adapter.resolve("adapter_config.json"));
        byte[] weights = Files.readAllBytes(adapter.resolve("adapter_model.safetensors"));
        ModelVersionRow row =
                new ModelVersionRow(hash, "solver", "sha256:0", "sft", null, null, 1, weights.length, Instant.EPOCH);
        new ModelVersionStore(jdbc).insert(row, config, weights);
        return hash;
    }

    private static void promote(String name, @Nullable String version) {
        aliases.promote(
                name, "solver", new AliasChange(0, version, null, "promote", true, null, null, null, Instant.EPOCH));
    }

    private static SolverServer replica(String url) {
        return new SolverServer(
                "--solver.discover=false",
                "--solver.models[0].name=solver",
                "--solver.models[0].kind=local",
                "--solver.models[0].checkpoint=" + SharedData.model("smollm2-135m"),
                "--solver.registry.url=" + url,
                "--solver.registry.username=postgres",
                "--solver.adapters.max-resident=1",
                "--solver.adapters.max-rank=8",
                "--solver.defaults.slots=2",
                "--solver.defaults.max-sequence=512");
    }

    private static JsonNode answer(SolverServer server, String model) {
        return server.chat("{\"model\": \"" + model + "\", " + QUESTION + "}");
    }

    private static HttpResponse<String> ask(SolverServer server, String model) {
        return server.post("/v1/chat/completions", "{\"model\": \"" + model + "\", " + QUESTION + "}");
    }

    private static List<String> listed(SolverServer server) {
        return Json.read(server.get("/v1/models").body(), JsonNode.class)
                .get("data")
                .findValuesAsString("id");
    }

    @Test
    void replicas_agree_on_a_name_follow_its_promotions_and_know_it_again_after_a_restart() {
        promote("coach", first);
        JsonNode afterFirst;
        JsonNode afterSecond;
        try (SolverServer one = replica(TestPostgres.jdbcUrl(database));
                SolverServer two = replica(TestPostgres.jdbcUrl(database))) {
            assertThat(listed(one)).as("loaded before the first request").contains("solver", first, "coach");
            JsonNode plain = answer(one, "solver");
            afterFirst = answer(one, "coach");
            assertThat(afterFirst.get("weights_version").asString())
                    .isEqualTo(plain.get("weights_version").asString() + "+" + first);
            assertThat(afterFirst.at("/choices/0/token_ids")).isNotEqualTo(plain.at("/choices/0/token_ids"));
            assertThat(answer(two, "coach").at("/choices/0/token_ids"))
                    .isEqualTo(afterFirst.at("/choices/0/token_ids"));

            promote("coach", second);
            afterSecond = answer(two, "coach");
            assertThat(afterSecond.get("weights_version").asString()).endsWith("+" + second);
            assertThat(answer(one, "coach").at("/choices/0/token_ids"))
                    .as("the first gave way: there is room for one")
                    .isEqualTo(afterSecond.at("/choices/0/token_ids"));
            assertThat(answer(one, "coach@" + first).get("weights_version"))
                    .isEqualTo(afterFirst.get("weights_version"));
            JsonNode info = Json.read(one.get("/v1/models/coach").body(), JsonNode.class);
            assertThat(info.get("version").asString()).isEqualTo(second);
            assertThat(info.get("parent").asString()).isEqualTo("solver");
            assertThat(info.get("weights_hash")).isEqualTo(afterSecond.get("weights_version"));

            promote("coach", null);
            assertThat(answer(one, "coach").get("weights_version")).isEqualTo(plain.get("weights_version"));
            promote("coach", second);

            assertThat(ask(one, "coach@sha256:" + "0".repeat(64)).body()).contains("UNKNOWN_MODEL");
            HttpResponse<String> loaded = one.post(
                    "/v1/load_lora_adapter",
                    "{\"lora_name\": \"mine\", \"lora_path\": \"sha256:" + "0".repeat(64) + "\"}");
            assertThat(loaded.body()).contains("UNKNOWN_MODEL");
        }
        try (SolverServer again = replica(TestPostgres.jdbcUrl(database))) {
            assertThat(listed(again)).contains(second);
            assertThat(answer(again, "coach").at("/choices/0/token_ids"))
                    .isEqualTo(afterSecond.at("/choices/0/token_ids"));
        }
    }

    @Test
    void damaged_bytes_are_never_served_and_a_lost_database_leaves_the_base_model() throws IOException {
        String damaged = version(5);
        jdbc.sql(
                        "update model_version set config = convert_to(replace(convert_from(config, 'UTF8'), '32', '33'), 'UTF8')"
                                + " where id = ?")
                .param(damaged)
                .update();
        aliases.serve("damaged", "solver", damaged);
        try (SolverServer server = replica(TestPostgres.jdbcUrl(database))) {
            HttpResponse<String> answer = ask(server, "damaged");
            assertThat(answer.statusCode()).isEqualTo(500);
            assertThat(answer.body()).contains("not those that were written");
            aliases.withdraw("damaged");
            assertThat(ask(server, "damaged").statusCode()).isEqualTo(404);
        }
        try (SolverServer alone = replica("jdbc:postgresql://127.0.0.1:1/none")) {
            assertThat(answer(alone, "solver").at("/choices/0/token_ids").size())
                    .isPositive();
            HttpResponse<String> answer = ask(alone, "coach");
            assertThat(answer.statusCode()).isEqualTo(503);
            assertThat(answer.body()).contains("SOLVER_UNAVAILABLE");
            assertThat(listed(alone)).containsExactly("solver");
        }
    }
}
