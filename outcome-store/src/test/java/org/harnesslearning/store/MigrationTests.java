package org.harnesslearning.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.MigrationVersion;
import org.flywaydb.core.api.output.MigrateResult;
import org.flywaydb.core.api.output.ValidateResult;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.store.harness.HarnessNames;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.key.ApiKey;
import org.harnesslearning.store.key.ApiKeyStore;
import org.harnesslearning.store.key.KeyLimits;
import org.harnesslearning.store.run.EvaluationStore;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.run.RunStore;
import org.harnesslearning.store.task.TaskStore;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.simple.JdbcClient;

/** An installation of the previous schema, with data, goes on under this one. */
@RequiresPostgres
class MigrationTests {
    private static final Clock CLOCK = Clock.fixed(Instant.parse("2030-01-02T03:04:05Z"), ZoneOffset.UTC);
    private static final String SOURCE = "def run(question, env):\n    return env.llm(question)\n";
    private static final String HARNESS = Hashes.harness(SOURCE);
    private static final String ITEM = Hashes.item("What is 2 + 2?");
    private static final String KEY = "sha256:" + "a".repeat(64);

    private static Flyway flyway(DataSource database, String target) {
        return Flyway.configure()
                .dataSource(database)
                .target(MigrationVersion.fromVersion(target))
                .load();
    }

    @Test
    void data_of_the_fifth_schema_is_read_and_written_under_the_newest() {
        DataSource database = TestPostgres.dataSource(TestPostgres.createDatabase());
        assertThat(flyway(database, "5").migrate().targetSchemaVersion).isEqualTo("5");
        JdbcClient jdbc = JdbcClient.create(database);
        fill(jdbc);

        Flyway newest = Flyway.configure().dataSource(database).load();
        MigrateResult migrated = newest.migrate();
        assertThat(migrated.success).isTrue();
        assertThat(migrated.migrations).extracting(step -> step.version).contains("11", "12", "13", "15");
        ValidateResult valid = newest.validateWithResult();
        assertThat(valid.validationSuccessful).as(valid.getAllErrorMessages()).isTrue();
        assertThat(newest.migrate().migrationsExecuted).isZero();

        RunRow run = new RunStore(jdbc, CLOCK).get("adp_old");
        assertThat(run.kind()).isEqualTo(RunKind.ADAPTATION);
        assertThat(run.state()).isEqualTo(RunState.SUCCEEDED);
        assertThat(run.result()).isNotNull();
        assertThat(new RunStore(jdbc, CLOCK).items("adp_old").get(Split.DEV))
                .singleElement()
                .satisfies(item -> {
                    assertThat(item.hash()).isEqualTo(ITEM);
                    assertThat(item.mark()).isNull();
                });
        assertThat(new EvaluationStore(jdbc).all("adp_old")).hasSize(1);
        assertThat(new TaskStore(jdbc).items("tsk_old").get(Split.DEV)).hasSize(1);
        ApiKey key = new ApiKeyStore(jdbc).findValid(KEY, CLOCK.instant()).orElseThrow();
        assertThat(key.scope()).isEqualTo("admin");
        assertThat(key.expiresAt()).isNull();
        assertThat(key.limits()).isEqualTo(KeyLimits.NONE);
        assertThat(new HarnessStore(jdbc, CLOCK).source(HARNESS)).isEqualTo(SOURCE);

        HarnessNames names = new HarnessNames(jdbc, CLOCK);
        names.open("support", "key_old");
        assertThat(names.add("support", HARNESS, "adp_old", null, "key_old").version())
                .isEqualTo(1);
        new RunStore(jdbc, CLOCK).delete("adp_old");
        assertThat(names.versions("support", 10)).hasSize(1);
    }

    private static void fill(JdbcClient jdbc) {
        String now = "'2029-12-31T00:00:00Z'";
        String item = "{\"hash\":\"" + ITEM + "\",\"question\":\"What is 2 + 2?\",\"answers\":[\"4\"],\"origin\":null}";
        List<String> rows = List.of(
                "insert into harness values ('" + HARNESS + "', 'program', '" + SOURCE + "', " + now + ")",
                "insert into api_key (id, name, scope, hash, created_at) values ('key_old', 'old', 'admin', '" + KEY
                        + "', " + now + ")",
                "insert into task values ('tsk_old', 'items', 'mine', 'Add.', '{\"name\":\"exact\",\"options\":{}}', 'key_old', "
                        + now + ")",
                "insert into task_item values ('tsk_old', 'dev', 0, '" + ITEM + "', '" + item + "')",
                "insert into run (id, kind, harness_kind, task_kind, task_name, state, settings, plan, seed_harness, recorded,"
                        + " result, created_by, created_at, finished_at) values ('adp_old', 'adaptation', 'program', 'items',"
                        + " 'tsk_old', 'succeeded', '{\"seed\":1}', '{}', '" + HARNESS + "', false,"
                        + " '{\"gate\":\"none\"}', 'key_old', " + now + ", " + now + ")",
                "insert into run_item values ('adp_old', 'dev', 0, '" + ITEM + "', '" + item + "')",
                "insert into evaluation (id, run_id, round, role, split, repeat, harness, questions, state, results) values"
                        + " ('adp_old/r0/seed/dev/0', 'adp_old', 0, 'seed', 'dev', 0, '" + HARNESS
                        + "', 1, 'done', '[]')",
                "insert into idempotency values ('key_old', 'k', 'sha256:b', 'adp_old', " + now + ")",
                "insert into run_budget (run_id, calls_limit, tokens_limit, opened_at) values ('adp_old', 10, 10, "
                        + now + ")");
        rows.forEach(sql -> jdbc.sql(sql).update());
        Map<String, Object> counted =
                jdbc.sql("select count(*) runs from run").query().singleRow();
        assertThat(counted).containsEntry("runs", 1L);
    }
}
