package org.harnesslearning.trainer.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.store.model.ModelAliasStore;
import org.harnesslearning.tasks.Families;
import org.harnesslearning.tasks.Family;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.run.DrillTrainer;
import org.harnesslearning.trainer.run.Http;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

/** Versions, promotions and rollbacks, with a real database and doubles of the neighbours. */
@RequiresPostgres
class RegistryTest {
    @TempDir
    private static Path folder;

    private static NeighboursDouble neighbours;
    private static ConfigurableApplicationContext trainer;
    private static ModelRegistry registry;
    private static Http http;

    @BeforeAll
    static void start() {
        neighbours = new NeighboursDouble();
        trainer = DrillTrainer.run(DrillTrainer.arguments(
                        TestPostgres.jdbcUrl(TestPostgres.createDatabase()), neighbours.url(), 0, folder.toString())
                .toArray(String[]::new));
        neighbours.serves(trainer);
        registry = trainer.getBean(ModelRegistry.class);
        http = new Http("http://127.0.0.1:" + trainer.getEnvironment().getProperty("local.server.port"));
    }

    @AfterAll
    static void stop() {
        trainer.close();
        neighbours.close();
    }

    private static String version(String content) {
        LoraFiles files =
                new LoraFiles("{\"r\": 4}".getBytes(StandardCharsets.UTF_8), content.getBytes(StandardCharsets.UTF_8));
        return registry.publish(files, "tiny", "sha256:base", "grpo", null, "trn_x", 5)
                .id();
    }

    private static Http.Answer promote(String name, Map<String, Object> body, String scope) {
        return http.post(
                "/models/" + name + "/promote", body, "X-Key-Scope", scope, "X-Key-Id", "key_1", "Prefer", "wait=60");
    }

    @Test
    void what_is_no_adapter_of_that_hash_is_refused() throws Exception {
        byte[] config = "{}".getBytes(StandardCharsets.UTF_8);
        byte[] weights = "no tensors".getBytes(StandardCharsets.UTF_8);
        String hash = new LoraFiles(config, weights).hash();
        byte[] whole = zip(Map.of("adapter_config.json", config, "adapter_model.safetensors", weights));
        String path = "/models/versions/" + hash + "/adapter?base=tiny";
        assertThat(http.put(path, config, "application/zip").body()).contains("INVALID_FIELD");
        assertThat(http.put(path, zip(Map.of("adapter_config.json", config)), "application/zip")
                        .body())
                .contains("lacks");
        assertThat(http.put(
                                path.replace(
                                        "sha256:" + hash.charAt(7), "sha256:" + (hash.charAt(7) == '0' ? '1' : '0')),
                                whole,
                                "application/zip")
                        .body())
                .contains("The adapter is " + hash);
        assertThat(http.put(path, whole, "application/zip").body()).contains("can't be read");
        assertThat(http.put("/models/versions/" + hash + "/adapter?base=other", whole, "application/zip")
                        .body())
                .contains("UNKNOWN_MODEL");
        assertThat(http.get("/models/versions/" + hash + "/adapter").status()).isEqualTo(404);
    }

    private static byte[] zip(Map<String, byte[]> files) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            for (Map.Entry<String, byte[]> file : files.entrySet()) {
                zip.putNextEntry(new ZipEntry(file.getKey()));
                zip.write(file.getValue());
            }
        }
        return bytes.toByteArray();
    }

    @Test
    void equal_adapters_are_one_version_and_come_back_as_they_were() throws Exception {
        String version = version("weights");
        assertThat(version("weights")).isEqualTo(version);
        assertThat(new String(registry.files(version).weights(), StandardCharsets.UTF_8))
                .isEqualTo("weights");
        Http.Answer answer = http.get("/models/versions/" + version + "/adapter");
        assertThat(answer.status()).isEqualTo(200);
        Map<String, String> entries = new HashMap<>();
        try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(answer.bytes()))) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                entries.put(entry.getName(), new String(zip.readAllBytes(), StandardCharsets.UTF_8));
            }
        }
        assertThat(entries)
                .isEqualTo(Map.of("adapter_config.json", "{\"r\": 4}", "adapter_model.safetensors", "weights"));
        assertThat(http.get("/models/tiny/versions").json().at("/data/0/base").asString())
                .isEqualTo("tiny");
        assertThat(http.get("/models/nothing/versions").status()).isEqualTo(404);
    }

    @Test
    void bytes_that_are_not_those_that_were_written_are_refused() {
        String version = version("to be damaged");
        trainer.getBean(JdbcClient.class)
                .sql("update model_version_part set content = 'other' where version_id = ?")
                .param(version)
                .update();
        assertThatThrownBy(() -> registry.files(version))
                .isInstanceOf(PlatformException.class)
                .hasMessageContaining("not those that were written");
    }

    @Test
    void a_better_version_is_promoted_on_the_withheld_families_and_a_worse_one_refused_with_the_figures() {
        String first = version("first");
        String second = version("second");
        String worse = version("worse");
        neighbours.skill.putAll(Map.of("tiny", 0.3, first, 0.5, second, 0.7, worse, 0.65));
        int before = neighbours.ordered.size();

        Http.Answer promoted = promote("proposer", Map.of("version", first), "run");
        assertThat(promoted.status()).as(promoted.body()).isEqualTo(200);
        JsonNode decision = promoted.json().get("decision");
        // One reply of four is invalid and counts 0, so 0.2 between the edits is 0.15 between the versions.
        assertThat(decision.at("/gain/mean").asDouble()).isBetween(0.1499, 0.1501);
        assertThat(decision.at("/gain/ci/low").asDouble()).isPositive();
        assertThat(decision.get("questions").asInt()).isEqualTo(60);
        assertThat(decision.at("/candidate/valid_rate").asDouble()).isEqualTo(0.75);
        List<String> withheld =
                Families.of(Family.Role.WITHHELD).stream().map(Family::name).toList();
        assertThat(decision.get("families").findValuesAsString("family")).containsExactlyElementsOf(withheld);
        List<JsonNode> ordered = neighbours.ordered.subList(before, neighbours.ordered.size());
        assertThat(ordered).hasSize(10).allSatisfy(body -> {
            assertThat(body.at("/proposer/demonstrations").asString()).isEqualTo("none");
            assertThat(body.at("/splits/held_out").asInt()).isZero();
        });

        Http.Answer better = promote("proposer", Map.of("version", second), "run");
        assertThat(better.status()).isEqualTo(200);
        assertThat(better.json().get("serving").asString()).isEqualTo(first);

        Http.Answer refused = promote("proposer", Map.of("version", worse), "run");
        assertThat(refused.status()).isEqualTo(409);
        assertThat(refused.json().get("code").asString()).isEqualTo("PROMOTION_REFUSED");
        assertThat(refused.json().get("detail").asString()).contains("-0.0375", "60 questions", "/promotions/prm_");
        int asked = neighbours.ordered.size();
        assertThat(promote("proposer", Map.of("version", worse), "run").status())
                .isEqualTo(409);
        assertThat(neighbours.ordered)
                .as("the same question has the same answer")
                .hasSize(asked);

        JsonNode versions = http.get("/models/proposer/versions").json();
        assertThat(versions.get("serving").asString()).isEqualTo(second);
        assertThat(versions.at("/history/0/promotion").asString()).startsWith("prm_");
        assertThat(versions.at("/history/0/reason").asString()).contains("the gain on 60 questions");
        assertThat(versions.at("/promotions/0/state").asString()).isEqualTo("refused");
        assertThat(trainer.getBean(JdbcClient.class)
                        .sql("select count(*) from model_alias where name like 'prm_%'")
                        .query(Long.class)
                        .single())
                .as("names of the comparison are gone")
                .isZero();
        assertThat(http.get("/metrics").body()).contains("trainer_promotions_total{result=\"refused\"");

        Http.Answer back = http.post("/models/proposer/rollback", Map.of("reason", "slow"), "X-Key-Scope", "run");
        assertThat(back.json().get("serving").asString()).isEqualTo(first);
        Http.Answer further = http.post("/models/proposer/rollback", Map.of(), "X-Key-Scope", "run");
        assertThat(further.json().get("serving").isNull())
                .as("before the first promotion the base model served")
                .isTrue();
    }

    @Test
    void only_an_admin_may_force() {
        String version = version("forced");
        Map<String, Object> body = Map.of("version", version, "force", true, "reason", "first of its kind");
        Http.Answer refused = promote("forced", body, "run");
        assertThat(refused.status()).isEqualTo(403);
        assertThat(refused.json().get("code").asString()).isEqualTo("INSUFFICIENT_SCOPE");
        assertThat(promote("forced", body, "admin").status()).isEqualTo(200);
        JsonNode history = http.get("/models/forced/versions").json().get("history");
        assertThat(history.at("/0/forced").asBoolean()).isTrue();
        assertThat(history.at("/0/changed_by").asString()).isEqualTo("key_1");
        assertThat(history.at("/0/reason").asString()).isEqualTo("first of its kind");

        String other = version("never served");
        Map<String, Object> to = Map.of("version", other, "force", true);
        assertThat(http.post("/models/forced/rollback", to, "X-Key-Scope", "run")
                        .status())
                .isEqualTo(403);
        assertThat(http.post("/models/forced/rollback", Map.of("version", other), "X-Key-Scope", "admin")
                        .status())
                .isEqualTo(409);
        assertThat(http.post("/models/forced/rollback", to, "X-Key-Scope", "admin")
                        .status())
                .isEqualTo(200);
    }

    @Test
    void names_of_configured_models_and_of_runs_are_not_promoted() {
        String version = version("misplaced");
        assertThat(promote("tiny", Map.of("version", version, "force", true), "admin")
                        .status())
                .isEqualTo(409);
        registry.serve(version, "trn_1-policy-3");
        assertThat(promote("trn_1-policy-3", Map.of("version", version, "force", true), "admin")
                        .status())
                .isEqualTo(409);
        registry.withdraw("trn_1-policy-3");
        Http.Answer faults = http.post(
                "/models/x/promote", Map.of("version", "sha256:none", "forced", 1, "evaluation", Map.of("dev", 0)));
        assertThat(faults.status()).isEqualTo(400);
        assertThat(faults.json().get("errors").findValuesAsString("pointer"))
                .containsExactlyInAnyOrder("/version", "/forced", "/evaluation/dev");
    }

    @Test
    void names_that_ended_runs_and_promotions_left_are_taken_away_and_those_of_open_ones_stay() {
        String version = version("left over");
        String open = "trn_" + "a".repeat(26);
        String failed = "trn_" + "b".repeat(26);
        for (String run : List.of(open, failed)) {
            trainer.getBean(JdbcClient.class)
                    .sql("""
                            insert into training_run (id, kind, base_model, state, settings, created_at, queued_at, planned)
                            values (?, 'grpo', 'tiny', ?, '{}', now(), now(), 10)""")
                    .params(run, run.equals(open) ? "running" : "failed")
                    .update();
        }
        ModelAliasStore names = trainer.getBean(ModelAliasStore.class);
        List<String> left = List.of(
                failed + "-policy-3", "trn_" + "c".repeat(26) + "-policy-0", "prm_" + "d".repeat(26) + "-candidate");
        List<String> kept = List.of(open + "-policy-3", "a-users-own");
        for (String name : List.of(left.get(0), left.get(1), left.get(2), kept.get(0), kept.get(1))) {
            assertThat(names.serve(name, "tiny", version)).isTrue();
        }

        http.await(
                "/readyz",
                ready -> left.stream().allMatch(name -> names.find(name).isEmpty()));

        assertThat(kept).allMatch(name -> names.find(name).isPresent());
        kept.forEach(names::withdraw);
    }
}
