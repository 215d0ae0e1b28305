package org.harnesslearning.trainer.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.flywaydb.core.Flyway;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.sample.GroupRow;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.tasks.SeedHarness;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.harnesslearning.trainer.decoder.TinyModels;
import org.harnesslearning.trainer.rollout.ProposerDouble;
import org.harnesslearning.trainer.rollout.ProposerDouble.Reply;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

/** What policy runs were trained on, over HTTP: groups of a run that really trained, in a real Postgres. */
@RequiresPostgres
class TrainingGroupsTest {
    @TempDir
    private static Path folder;

    private static ProposerDouble proposer;
    private static ConfigurableApplicationContext trainer;
    private static JdbcClient jdbc;
    private static Http http;
    private static String run;

    @BeforeAll
    static void train() throws Exception {
        String database = TestPostgres.createDatabase();
        Flyway.configure().dataSource(TestPostgres.dataSource(database)).load().migrate();
        jdbc = JdbcClient.create(TestPostgres.dataSource(database));
        proposer = new ProposerDouble(jdbc);
        proposer.pausedFamily = "maze";
        proposer.script = (request, candidate) -> switch (candidate) {
            case 0 -> Reply.scored(0.75);
            case 1 -> Reply.invalid(OutcomeCode.NO_BLOCK);
            case 2 -> Reply.scored(0.25).text("cut", "length");
            default ->
                Reply.scored(0.5).tokens(null, null).ending(CandidateOutcome.INFRA_FAILURE, OutcomeCode.SANDBOX_FAULT);
        };
        trainer = LoopTrainer.run(LoopTrainer.arguments(
                TestPostgres.jdbcUrl(database),
                proposer.url(),
                0,
                TinyModels.writeWithTokenizer(folder, "llama-untied")));
        http = new Http("http://127.0.0.1:" + trainer.getEnvironment().getProperty("local.server.port"));
        run = ended(Map.of(
                "kind",
                "grpo",
                "base_model",
                "tiny",
                "families",
                List.of("chain_sum", "maze", "sudoku"),
                "method",
                Json.read("{\"candidates\": 4, \"groups_per_batch\": 3, \"lora\": {\"rank\": 2}}", JsonNode.class),
                "budget",
                Map.of("steps", 2)));
    }

    @AfterAll
    static void stop() {
        trainer.close();
        proposer.close();
    }

    private static String ended(Map<String, Object> order) {
        String id = Loops.order(http, order);
        JsonNode ended = Loops.ended(http, id);
        assertThat(ended.get("state").asString()).as(ended.toString()).isEqualTo("succeeded");
        return id;
    }

    private static String withoutGroups(String id) {
        jdbc.sql("""
                        insert into training_run (id, kind, base_model, state, settings, created_at, queued_at, planned)
                        values (?, 'grpo', 'tiny', 'cancelled', '{}', now(), now(), 10)""").param(id).update();
        return id;
    }

    private static JsonNode groups(String id, String query) {
        Http.Answer answer = http.get("/training-runs/" + id + "/groups" + query);
        assertThat(answer.status()).as(answer.body()).isEqualTo(200);
        return answer.json();
    }

    /** The first group of a family. */
    private static JsonNode of(String family, String query) {
        for (JsonNode group : groups(run, query).get("data")) {
            if (group.get("family").asString().equals(family)) {
                return group;
            }
        }
        throw new AssertionError("no group of " + family);
    }

    private static void refused(String id, String query, int status, String code, String detail) {
        Http.Answer answer = http.get("/training-runs/" + id + "/groups" + query);
        assertThat(answer.status()).as(query).isEqualTo(status);
        assertThat(answer.json().get("code").asString()).isEqualTo(code);
        assertThat(answer.json().get("detail").asString()).isEqualTo(detail);
    }

    @Test
    void all_groups_come_once_in_the_order_of_their_numbers() {
        List<JsonNode> all = new ArrayList<>();
        JsonNode page = groups(run, "?limit=4");
        assertThat(page.get("data").size()).isEqualTo(4);
        assertThat(page.get("next_after").asLong()).isEqualTo(4);
        page.get("data").forEach(all::add);
        page = groups(run, "?limit=4&after=4");
        assertThat(page.get("next_after").isNull()).as("nothing is left").isTrue();
        page.get("data").forEach(all::add);

        assertThat(all)
                .extracting(group -> group.get("number").asLong())
                .containsExactlyElementsOf(LongStream.rangeClosed(1, 6).boxed().toList());
        assertThat(all).extracting(group -> group.get("batch").asLong()).containsExactly(0L, 0L, 0L, 1L, 1L, 1L);
        assertThat(groups(run, "?limit=6").get("next_after").isNull())
                .as("a page that is just full is the last one too")
                .isTrue();
        assertThat(groups(run, "").get("data")).containsExactlyElementsOf(all);
        assertThat(groups(run, "?after=6").get("data").isEmpty()).isTrue();
    }

    @Test
    void a_sampled_group_has_its_provenance_and_what_came_of_each_sample_and_no_token_ids() {
        JsonNode group = of("chain_sum", "?after=3");
        assertThat(group.get("state").asString()).isEqualTo("sampled");
        assertThat(group.get("policy_step").asLong()).isEqualTo(1);
        assertThat(group.get("harness").asString()).isEqualTo(Hashes.harness(SeedHarness.MINIMAL));
        assertThat(group.get("model").asString()).isEqualTo(run + "-policy-1");
        assertThat(group.get("weights_version").asString())
                .isEqualTo("base+" + group.get("model_version").asString());
        assertThat(group.get("run").asString()).startsWith("rev_");
        assertThat(group.get("temperature").asDouble()).isEqualTo(0.7);
        assertThat(group.get("prompt_version").asString()).isEqualTo("p1");
        assertThat(group.get("report_version").asString()).isEqualTo("r1");
        assertThat(group.get("descriptions_version").asString()).isEqualTo("d1");
        assertThat(group.get("reward_mode").asString()).isEqualTo("absolute");
        for (String none : List.of("failure", "baseline", "chosen")) {
            assertThat(group.get(none).isNull()).as(none).isTrue();
        }
        assertThat(group.has("prompt_token_ids")).isFalse();

        JsonNode samples = group.get("samples");
        assertThat(samples.findValuesAsString("candidate")).containsExactly("0", "1", "2", "3");
        assertThat(samples).allMatch(sample -> !sample.has("completion_token_ids") && !sample.has("logprobs"));
        JsonNode scored = samples.get(0);
        assertThat(scored.get("outcome").asString()).isEqualTo("scored");
        assertThat(scored.get("score").asDouble()).isEqualTo(0.75);
        assertThat(scored.get("reward").asDouble()).isEqualTo(0.75);
        assertThat(scored.get("reward_with_bonus").asDouble()).isEqualTo(0.85, within(1e-9));
        assertThat(scored.get("valid").asBoolean()).isTrue();
        assertThat(scored.get("harness").asString()).startsWith("sha256:");
        assertThat(scored.get("finish_reason").asString()).isEqualTo("stop");
        assertThat(scored.get("tokens").asInt()).isEqualTo(3);
        assertThat(scored.get("mean_logprob").asDouble()).isEqualTo(-1.75 / 3, within(1e-12));
        JsonNode invalid = samples.get(1);
        assertThat(invalid.get("code").asString()).isEqualTo("NO_BLOCK");
        assertThat(invalid.get("valid").asBoolean()).isFalse();
        assertThat(invalid.get("reward").asDouble()).isZero();
        assertThat(invalid.get("harness").isNull()).isTrue();
        assertThat(samples.get(2).get("finish_reason").asString()).isEqualTo("length");
        JsonNode lost = samples.get(3);
        assertThat(lost.get("reason").asString()).isEqualTo("infra_failure");
        for (String none : List.of("reward", "reward_with_bonus", "score", "tokens", "mean_logprob")) {
            assertThat(lost.get(none).isNull()).as(none).isTrue();
        }
    }

    @Test
    void with_tokens_there_is_all_that_the_step_was_computed_from() {
        JsonNode group = of("sudoku", "?tokens=true");

        assertThat(Json.mapper().convertValue(group.get("prompt_token_ids"), int[].class))
                .containsExactly(1, 2, 3, 4);
        JsonNode sample = group.get("samples").get(0);
        assertThat(Json.mapper().convertValue(sample.get("completion_token_ids"), int[].class))
                .containsExactly(11, 12, 13);
        assertThat(Json.mapper().convertValue(sample.get("logprobs"), double[].class))
                .containsExactly(-0.5, -1, -0.25);
        assertThat(group.get("samples").get(3).get("logprobs").isNull()).isTrue();
    }

    @Test
    void failed_and_ordered_groups_stand_there_without_samples() {
        List<JsonNode> failed = new ArrayList<>();
        groups(run, "?tokens=true").get("data").forEach(group -> {
            if (group.get("state").asString().equals("failed")) {
                failed.add(group);
            }
        });
        assertThat(failed).hasSize(2).allSatisfy(group -> {
            assertThat(group.get("family").asString()).isEqualTo("maze");
            assertThat(group.get("failure").asString()).contains("the model is away");
            assertThat(group.get("weights_version").isNull()).isTrue();
            assertThat(group.get("samples").isEmpty()).isTrue();
        });

        String other = withoutGroups("trn_00000000000000000000000001");
        GroupRow row = trainer.getBean(GroupStore.class).find(run, 1).orElseThrow();
        trainer.getBean(GroupStore.class)
                .order(new GroupRow(
                        other,
                        8,
                        row.batch(),
                        row.lane(),
                        row.depth(),
                        row.family(),
                        row.itemSeed(),
                        row.samplingSeed(),
                        row.harness(),
                        row.model(),
                        row.modelVersion(),
                        row.policyStep(),
                        row.rewardMode(),
                        row.request(),
                        GroupRow.State.ORDERED,
                        null,
                        0,
                        null,
                        null,
                        null));
        JsonNode ordered = groups(other, "").get("data");
        assertThat(ordered.size()).as("groups of other runs are not among them").isEqualTo(1);
        assertThat(ordered.get(0).get("number").asLong()).isEqualTo(8);
        assertThat(ordered.get(0).get("state").asString()).isEqualTo("ordered");
        assertThat(ordered.get(0).get("run").isNull()).isTrue();
        assertThat(ordered.get(0).get("samples").isEmpty()).isTrue();
    }

    @Test
    void a_run_without_groups_has_an_empty_page() {
        JsonNode page = groups(withoutGroups("trn_00000000000000000000000002"), "?tokens=true");

        assertThat(page.get("data").isEmpty()).isTrue();
        assertThat(page.get("next_after").isNull()).isTrue();
    }

    @Test
    void an_unknown_run_and_bad_parameters_are_refused_with_the_reason() {
        refused("trn_none", "", 404, "NOT_FOUND", "There is no training run trn_none");
        String code = "INVALID_FIELD";
        refused(run, "?after=-1", 400, code, "after must be at least 0");
        refused(run, "?limit=0", 400, code, "limit must be from 1 to 100");
        refused(run, "?limit=101", 400, code, "limit must be from 1 to 100");
        refused(run, "?limit=21&tokens=true", 400, code, "limit must be from 1 to 20 with tokens");
        refused(run, "?tokens=yes", 400, code, "tokens must be true or false");
        refused(run, "?after=x", 400, code, "Parameter after has a value of the wrong type");
        refused(run, "?limit=99999999999", 400, code, "Parameter limit has a value of the wrong type");
        assertThat(groups(run, "?limit=100").get("data").size()).isEqualTo(6);
    }
}
