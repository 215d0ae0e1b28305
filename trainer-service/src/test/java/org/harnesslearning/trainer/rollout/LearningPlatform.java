package org.harnesslearning.trainer.rollout;

import com.zaxxer.hikari.HikariDataSource;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.flywaydb.core.Flyway;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.OutcomeStoreConfiguration;
import org.harnesslearning.store.sample.CorpusStore;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.testing.SharedData;
import org.harnesslearning.testing.TestPostgres;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.distributed.Learners;
import org.harnesslearning.trainer.registry.ModelRegistry;
import org.harnesslearning.trainer.registry.ModelVersion;
import org.harnesslearning.trainer.run.TrainingContext;
import org.harnesslearning.trainer.run.TrainingKind;
import org.harnesslearning.trainer.run.TrainingMethod;
import org.harnesslearning.trainer.run.TrainingStopped;
import org.harnesslearning.trainer.run.TrainingWork;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ComponentScan;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import tools.jackson.databind.JsonNode;

/** The methods of training over a real Postgres, with doubles of proposer-service, registry and learner. */
public final class LearningPlatform implements AutoCloseable {
    private static final AtomicInteger NUMBER = new AtomicInteger();

    /** Tokenizer and chat template; no weight of it is read. */
    private static final Path CHECKPOINT = SharedData.model("smollm2-135m");

    public final ProposerDouble proposer;
    public final RegistryDouble registry = new RegistryDouble();
    public final Queue<LearnerDouble> learners = new ConcurrentLinkedQueue<>();
    public final JdbcClient jdbc;
    public final GroupStore groups;
    public final CorpusStore corpus;
    private final ConfigurableApplicationContext context;

    /** Versions by content. */
    public static final class RegistryDouble implements ModelRegistry {
        public final Map<String, LoraFiles> versions = new LinkedHashMap<>();
        public final Map<String, String> served = new LinkedHashMap<>();
        public final List<String> names = new ArrayList<>();

        @Override
        public synchronized ModelVersion publish(
                LoraFiles files, String base, String baseHash, String kind, String parent, String run, long step) {
            versions.put(files.hash(), files);
            return new ModelVersion(files.hash(), base, baseHash, kind, parent, run, step, 1, Instant.EPOCH);
        }

        @Override
        public synchronized void serve(String version, String name) {
            served.put(name, version);
            names.add(name);
        }

        @Override
        public LoraFiles files(String version) {
            return versions.get(version);
        }

        @Override
        public synchronized void withdraw(String name) {
            served.remove(name);
        }
    }

    /** Without a stereotype, so that no scan of the service itself finds it. */
    @Import(OutcomeStoreConfiguration.class)
    @ComponentScan({
        "org.harnesslearning.trainer.rollout",
        "org.harnesslearning.trainer.grpo",
        "org.harnesslearning.trainer.sft"
    })
    static class Application {
        @Bean
        DataSource dataSource(Environment environment) {
            HikariDataSource pool = new HikariDataSource();
            pool.setJdbcUrl(environment.getRequiredProperty("tests.database"));
            pool.setMaximumPoolSize(6);
            return pool;
        }

        @Bean
        JdbcClient jdbcClient(DataSource dataSource) {
            return JdbcClient.create(dataSource);
        }

        @Bean
        TransactionTemplate transactionTemplate(DataSource dataSource) {
            return new TransactionTemplate(new DataSourceTransactionManager(dataSource));
        }

        @Bean
        Clock clock() {
            return Clock.systemUTC();
        }
    }

    public LearningPlatform() {
        String database = TestPostgres.createDatabase();
        Flyway.configure().dataSource(TestPostgres.dataSource(database)).load().migrate();
        HikariDataSource pool = new HikariDataSource();
        pool.setJdbcUrl(TestPostgres.jdbcUrl(database));
        pool.setMaximumPoolSize(4);
        jdbc = JdbcClient.create(pool);
        proposer = new ProposerDouble(jdbc);
        SpringApplication application = new SpringApplication(Application.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        application.setDefaultProperties(Map.of(
                "spring.config.name", "learning-tests",
                "spring.main.banner-mode", "off",
                "tests.database", TestPostgres.jdbcUrl(database),
                "platform.proposer-url", proposer.url(),
                "platform.internal-secret", "test-secret",
                "trainer.rollout.poll", "10ms",
                "trainer.rollout.retry-delay", "1ms"));
        application.addInitializers(started -> {
            started.getBeanFactory().registerSingleton("modelRegistry", registry);
            started.getBeanFactory().registerSingleton("learners", (Learners) settings -> {
                LearnerDouble learner = new LearnerDouble();
                learners.add(learner);
                return learner;
            });
        });
        context = application.run();
        groups = context.getBean(GroupStore.class);
        corpus = context.getBean(CorpusStore.class);
    }

    /** The method of a kind. */
    public TrainingMethod method(TrainingKind kind) {
        return context.getBeansOfType(TrainingMethod.class).values().stream()
                .filter(method -> method.kind() == kind)
                .findFirst()
                .orElseThrow();
    }

    /** A run's work, opened as its job does it, and the desk that it reports to. */
    public record Opened(String run, TrainingContext context, TrainingWork work, LearnerDouble learner, Desk desk) {}

    /** A desk that keeps all events. */
    public static final class Desk implements TrainingContext.Desk {
        public final Queue<Map.Entry<String, Object>> events = new ConcurrentLinkedQueue<>();
        public volatile String pending = "";
        /** Whether the run is to stop where it waits. */
        public volatile boolean stopped;

        @Override
        public void event(String type, Object data) {
            events.add(Map.entry(type, data));
        }

        @Override
        public void pending(String what) {
            pending = what;
        }

        @Override
        public void check() {
            if (stopped) {
                throw new TrainingStopped("the test wants a stop");
            }
        }

        @Override
        public <T> T waiting(Supplier<T> wait) {
            return wait.get();
        }
    }

    /** A new run. */
    public Opened open(TrainingKind kind, List<String> families, String settings) {
        return open(kind, families, settings, new TrainingContext.Budget(1000, 3600, 1_000_000, 1_000_000_000));
    }

    /** A new run with bounds. */
    public Opened open(TrainingKind kind, List<String> families, String settings, TrainingContext.Budget budget) {
        String run = "trn_%06d".formatted(NUMBER.incrementAndGet());
        jdbc.sql("""
                        insert into training_run (id, kind, base_model, state, settings, created_at, queued_at, planned)
                        values (?, ?, 'tiny', 'running', '{}', now(), now(), 10)""").params(run, kind.json()).update();
        return again(run, kind, families, settings, budget);
    }

    /** The same run in another attempt. */
    public Opened again(Opened earlier) {
        TrainingContext before = earlier.context();
        return again(before.run(), before.kind(), before.families(), Json.write(before.settings()), before.budget());
    }

    private Opened again(
            String run, TrainingKind kind, List<String> families, String settings, TrainingContext.Budget budget) {
        TrainingMethod method = method(kind);
        JsonNode effective =
                Json.mapper().valueToTree(method.settings(Json.mapper().readTree(settings)));
        Desk desk = new Desk();
        TrainingContext opened = new TrainingContext(
                run,
                kind,
                "tiny",
                CHECKPOINT,
                families,
                effective,
                budget,
                null,
                null,
                7,
                Path.of("unused"),
                desk,
                Clock.systemUTC());
        TrainingWork work = method.open(opened);
        return new Opened(
                run,
                opened,
                work,
                learners.stream().reduce((first, last) -> last).orElseThrow(),
                desk);
    }

    @Override
    public void close() {
        context.close();
        proposer.close();
    }
}
