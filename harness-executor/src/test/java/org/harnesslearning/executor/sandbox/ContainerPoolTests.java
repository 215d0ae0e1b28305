package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.testing.RequiresDocker;
import org.junit.jupiter.api.Test;

@RequiresDocker
class ContainerPoolTests {
    private static final String ECHO = "def run(question, env):\n    return question\n";
    private static final Limits SMALL = new Limits(1, 5, 64);

    private static TestSandboxes pool(Map<String, Object> changes) {
        Map<String, Object> settings = new HashMap<>(Map.of("executor.pool.size", 2, "executor.pool.memory-mib", 64));
        settings.putAll(changes);
        return new TestSandboxes(settings);
    }

    private static void awaitFull(TestSandboxes docker, int members) {
        await().atMost(60, TimeUnit.SECONDS).until(() -> docker.sandboxes().idle() == members);
    }

    private static String ask(HarnessSandbox sandbox, String question) throws InterruptedException {
        SandboxResult result = sandbox.ask(question, request -> new Broker.Answer.Reply("reply"));
        return ((SandboxResult.Completed) result).answer();
    }

    private static double count(TestSandboxes docker, String result) {
        return docker.metrics()
                .get("executor.pool.take")
                .tag("result", result)
                .timer()
                .count();
    }

    private static double discarded(TestSandboxes docker, String reason) {
        return docker.metrics()
                .get("executor.pool.discarded")
                .tag("reason", reason)
                .counter()
                .count();
    }

    @Test
    void a_job_gets_a_started_container_that_no_other_ever_gets_and_the_pool_refills() throws InterruptedException {
        try (TestSandboxes docker = pool(Map.of())) {
            awaitFull(docker, 2);
            List<String> members = docker.containers();
            try (HarnessSandbox first = docker.sandboxes().open("first", ECHO, SMALL)) {
                assertThat(ask(first, "one")).isEqualTo("one");
                try (HarnessSandbox second = docker.sandboxes().open("second", ECHO, SMALL)) {
                    assertThat(ask(second, "two")).isEqualTo("two");
                }
            }
            assertThat(count(docker, "hit")).isEqualTo(2);
            assertThat(count(docker, "miss")).isZero();
            awaitFull(docker, 2);
            assertThat(docker.containers()).hasSize(2).doesNotContainAnyElementsOf(members);
            assertThat(docker.sandboxes().check(ECHO, SMALL).code()).isNull();
            assertThat(count(docker, "hit")).as("a check takes a member too").isEqualTo(3);
            docker.sandboxes().close();
            assertThat(docker.containers()).as("closed").isEmpty();
        }
    }

    @Test
    void a_job_with_another_memory_limit_starts_its_own_container() throws InterruptedException {
        try (TestSandboxes docker = pool(Map.of("executor.pool.size", 1))) {
            awaitFull(docker, 1);
            try (HarnessSandbox sandbox = docker.sandboxes().open("large", ECHO, new Limits(1, 5, 128))) {
                assertThat(ask(sandbox, "q")).isEqualTo("q");
            }
            assertThat(count(docker, "miss")).isEqualTo(1);
            assertThat(docker.sandboxes().idle()).isEqualTo(1);
        }
    }

    @Test
    void a_member_that_gives_no_sign_of_health_is_never_given_out() throws InterruptedException {
        try (TestSandboxes docker = pool(Map.of("executor.pool.ping-timeout", "500ms"))) {
            awaitFull(docker, 2);
            List<String> members = docker.containers();
            TestSandboxes.client().killContainerCmd(members.get(0)).exec();
            TestSandboxes.client().pauseContainerCmd(members.get(1)).exec();
            try (HarnessSandbox sandbox = docker.sandboxes().open("job", ECHO, SMALL)) {
                assertThat(ask(sandbox, "q")).isEqualTo("q");
            }
            assertThat(discarded(docker, "unhealthy")).isEqualTo(2);
            awaitFull(docker, 2);
            assertThat(docker.containers()).doesNotContainAnyElementsOf(members);
        }
    }

    @Test
    void old_and_dead_members_are_replaced_without_anyone_asking() {
        try (TestSandboxes docker = pool(Map.of(
                "executor.pool.size", 1, "executor.pool.max-age", "300ms", "executor.pool.inspection", "50ms"))) {
            await().atMost(60, TimeUnit.SECONDS).until(() -> discarded(docker, "expired") >= 2);
        }
    }

    @Test
    void the_pool_recovers_when_the_engine_does() {
        String missing = "harness-sandbox:missing";
        SimpleMeterRegistry metrics = new SimpleMeterRegistry();
        try (TestSandboxes docker = new TestSandboxes(Map.of());
                ContainerPool pool = new ContainerPool(
                        docker.engine(),
                        missing,
                        new PoolSettings(
                                1,
                                64,
                                Duration.ofMinutes(1),
                                Duration.ofMinutes(1),
                                Duration.ofSeconds(1),
                                Duration.ofMillis(20),
                                Duration.ofMillis(100),
                                1,
                                Duration.ofMinutes(1)),
                        metrics)) {
            await().atMost(30, TimeUnit.SECONDS)
                    .until(() -> metrics.get("executor.pool.failures").counter().count() >= 2);
            TestSandboxes.client()
                    .tagImageCmd(docker.image(), "harness-sandbox", "missing")
                    .exec();
            try {
                await().atMost(30, TimeUnit.SECONDS).until(() -> pool.idle() == 1);
            } finally {
                TestSandboxes.client().removeImageCmd(missing).withForce(true).exec();
            }
        }
    }
}
