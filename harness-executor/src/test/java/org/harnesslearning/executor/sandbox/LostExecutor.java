package org.harnesslearning.executor.sandbox;

import com.github.dockerjava.api.model.HostConfig;
import java.time.Clock;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.flywaydb.core.Flyway;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.store.execution.ExecutorInstances;
import org.postgresql.ds.PGSimpleDataSource;
import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * An executor in a process of its own, to be killed: starts jobs that go on for ever, says "running" when all of them do,
 * and never ends. Arguments: JDBC URL, owner label, image, number of jobs.
 */
final class LostExecutor {
    /** Of those who clear away after it. */
    static final ReaperSettings SETTINGS =
            new ReaperSettings(Duration.ofMillis(500), Duration.ofSeconds(10), Duration.ofMillis(500));

    /** Its own: it must not clear away the containers that it does not know, which stand for those of a bad runner here. */
    private static final ReaperSettings BEATS_ONLY =
            new ReaperSettings(Duration.ofMillis(500), Duration.ofSeconds(10), Duration.ofHours(1));

    private LostExecutor() {}

    static Heartbeats heartbeats(String url) {
        PGSimpleDataSource source = new PGSimpleDataSource();
        source.setUrl(url);
        source.setUser("postgres");
        Flyway.configure().dataSource(source).load().migrate();
        return new StoredHeartbeats(new ExecutorInstances(JdbcClient.create(source)));
    }

    public static void main(String[] arguments) throws Exception {
        int jobs = Integer.parseInt(arguments[3]);
        SandboxSettings settings = TestSandboxes.settings(Map.of(
                "executor.sandbox.owner", arguments[1], "executor.sandbox.max-containers", Integer.toString(jobs)));
        Heartbeats heartbeats = heartbeats(arguments[0]);
        DockerEngine engine = DockerEngine.connect(settings, Clock.systemUTC(), heartbeats.registry());
        Reaper.start(engine, heartbeats, BEATS_ONLY);
        DockerSandboxes sandboxes = TestSandboxes.sandboxes(engine, arguments[2], settings);
        CountDownLatch running = new CountDownLatch(jobs);
        String source = "def run(question, env):\n    env.llm(question)\n    while True: pass\n";
        for (int job = 0; job < jobs; job++) {
            String name = "job " + job;
            Thread.ofPlatform().start(() -> {
                try {
                    HarnessSandbox sandbox = sandboxes.open(name, source, new Limits(3, 600, 64));
                    sandbox.ask("q", request -> {
                        running.countDown();
                        new CountDownLatch(1).await();
                        return new Broker.Answer.Reply("never");
                    });
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
        }
        running.await();
        // And two that do not end with their standard input, as no runner should, but one might.
        for (int stubborn = 0; stubborn < 2; stubborn++) {
            String id = TestSandboxes.client()
                    .createContainerCmd(arguments[2])
                    .withEntrypoint("sleep", "600")
                    .withLabels(Map.of(
                            DockerEngine.OWNER, settings.owner(),
                            DockerEngine.REGISTRY, heartbeats.registry(),
                            DockerEngine.INSTANCE, engine.instance(),
                            DockerEngine.JOB, "stubborn",
                            DockerEngine.DEADLINE, Long.toString(Long.MAX_VALUE)))
                    .withHostConfig(HostConfig.newHostConfig().withNetworkMode("none"))
                    .exec()
                    .getId();
            TestSandboxes.client().startContainerCmd(id).exec();
        }
        System.out.println("running");
        System.out.flush();
        new CountDownLatch(1).await();
    }
}
