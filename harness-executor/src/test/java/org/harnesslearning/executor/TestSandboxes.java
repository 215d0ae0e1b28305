package org.harnesslearning.executor;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.ConflictException;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.core.DefaultDockerClientConfig;
import com.github.dockerjava.core.DockerClientImpl;
import com.github.dockerjava.zerodep.ZerodepDockerHttpClient;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.harnesslearning.executor.sandbox.AdmissionSettings;
import org.harnesslearning.executor.sandbox.DockerEngine;
import org.harnesslearning.executor.sandbox.DockerSandboxes;
import org.harnesslearning.executor.sandbox.ImageBuild;
import org.harnesslearning.executor.sandbox.PoolSettings;
import org.harnesslearning.executor.sandbox.Protection;
import org.harnesslearning.executor.sandbox.SandboxSettings;
import org.harnesslearning.executor.sandbox.SelfCheck;
import org.harnesslearning.testing.SharedData;
import org.harnesslearning.testing.TestPostgres;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.context.ConfigurableApplicationContext;

/** Real sandboxes for a test class, under an owner label of its own, so that what it leaves behind can be told. */
public final class TestSandboxes implements AutoCloseable {
    /** The script that builds the image. */
    public static final Path IMAGE_BUILD = SharedData.root().resolve("harness-executor/sandbox-image/build.sh");

    /** Memory of a job; a runtime with a kernel of its own needs more for as many processes. */
    public static final int MEMORY_MIB = Integer.getInteger("sandbox.test.memory-mib", 128);

    /** Settings that this run was given as system properties: another runtime, another engine; see docs/sandbox.md. */
    private static final Map<String, String> GIVEN = System.getProperties().stringPropertyNames().stream()
            .filter(name -> name.startsWith("executor.sandbox."))
            .collect(Collectors.toUnmodifiableMap(name -> name, System::getProperty));

    private static final DockerClient DOCKER = docker();
    private final SimpleMeterRegistry metrics = new SimpleMeterRegistry();
    private final SandboxSettings settings;
    private final DockerEngine engine;
    private final String image;
    private final DockerSandboxes sandboxes;

    public TestSandboxes(Map<String, Object> changes) {
        settings = settings(changes);
        engine = DockerEngine.connect(settings, Clock.systemUTC(), "test");
        image = ImageBuild.resolve(engine, null, IMAGE_BUILD, Duration.ofMinutes(15), "executor.sandbox.image");
        sandboxes = new DockerSandboxes(
                engine,
                image,
                settings,
                new SelfCheck(Set.of()),
                bound("executor.pool", PoolSettings.class, withDefault(changes, "executor.pool.size", 0)),
                bound("executor.admission", AdmissionSettings.class, changes),
                metrics);
    }

    /** Sandboxes of an engine without a pool, as many at once as the settings allow, whatever the machine has. */
    public static DockerSandboxes sandboxes(DockerEngine engine, String image, SandboxSettings settings) {
        return sandboxes(engine, image, settings, 0);
    }

    /** The same with a pool of this size for jobs of 128 MiB. */
    public static DockerSandboxes sandboxes(DockerEngine engine, String image, SandboxSettings settings, int pool) {
        return new DockerSandboxes(
                engine,
                image,
                settings,
                new SelfCheck(Set.of()),
                bound(
                        "executor.pool",
                        PoolSettings.class,
                        Map.of("executor.pool.size", pool, "executor.pool.memory-mib", 128)),
                bound(
                        "executor.admission",
                        AdmissionSettings.class,
                        Map.of("executor.admission.cpus", 1000, "executor.admission.memory-mib", 1 << 20)),
                new SimpleMeterRegistry());
    }

    /** Settings as a service reads them, with an owner of their own. */
    public static SandboxSettings settings(Map<String, Object> changes) {
        return bound(
                "executor.sandbox",
                SandboxSettings.class,
                withDefault(changes, "executor.sandbox.owner", "test-" + UUID.randomUUID()));
    }

    private static <T> T bound(String prefix, Class<T> type, Map<String, Object> properties) {
        return new Binder(new MapConfigurationPropertySource(properties)).bindOrCreate(prefix, type);
    }

    private static Map<String, Object> withDefault(Map<String, Object> properties, String name, Object value) {
        Map<String, Object> all = new HashMap<>(GIVEN);
        all.putAll(properties);
        all.putIfAbsent(name, value);
        return all;
    }

    private static DockerClient docker() {
        DefaultDockerClientConfig.Builder builder = DefaultDockerClientConfig.createDefaultConfigBuilder();
        String host = GIVEN.get("executor.sandbox.docker-host");
        if (host != null) {
            builder.withDockerHost(host);
        }
        DefaultDockerClientConfig config = builder.build();
        return DockerClientImpl.getInstance(
                config,
                new ZerodepDockerHttpClient.Builder()
                        .dockerHost(config.getDockerHost())
                        .build());
    }

    /** The whole executor, on a database of its own. */
    public static ConfigurableApplicationContext executor(String... more) {
        String[] common = {
            "--spring.config.name=harness-executor",
            "--server.port=0",
            "--platform.internal-secret=secret",
            "--spring.datasource.url=" + TestPostgres.jdbcUrl(TestPostgres.createDatabase()),
            "--spring.datasource.username=postgres"
        };
        String[] all = Stream.of(common, more).flatMap(Arrays::stream).toArray(String[]::new);
        return new SpringApplicationBuilder(ExecutorApplication.class).run(all);
    }

    /** Skips a test class where the engine does not have the runtime that this run was given. */
    public static final class ChosenRuntime implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            String runtime = settings(Map.of()).runtime();
            return runtime == null || runtimes().contains(runtime)
                    ? ConditionEvaluationResult.enabled("present")
                    : ConditionEvaluationResult.disabled(
                            "the engine has no runtime " + runtime + ", only " + runtimes());
        }
    }

    /** Skips the test where this run accepts that the host lacks one of these: it would do harm there. */
    public static void assumeHeld(Protection... protections) {
        Set<Protection> gaps = settings(Map.of()).acceptedGaps();
        for (Protection protection : protections) {
            assumeTrue(!gaps.contains(protection), () -> "this run accepts the gap " + protection);
        }
    }

    private static Set<String> runtimes() {
        Map<String, ?> runtimes = DOCKER.infoCmd().exec().getRuntimes();
        return runtimes == null ? Set.of() : runtimes.keySet();
    }

    /** A client for the test's own questions to the engine. */
    public static DockerClient client() {
        return DOCKER;
    }

    /** Kills a container; one that has ended by itself, or was not started yet, is left alone. */
    public static void kill(String container) {
        try {
            DOCKER.killContainerCmd(container).exec();
        } catch (ConflictException | NotFoundException e) {
            // It does not run.
        }
    }

    public DockerEngine engine() {
        return engine;
    }

    public String image() {
        return image;
    }

    public DockerSandboxes sandboxes() {
        return sandboxes;
    }

    public MeterRegistry metrics() {
        return metrics;
    }

    public SandboxSettings settings() {
        return settings;
    }

    /** Ids of all containers, running or not, of an owner. */
    public static List<String> containersOf(String owner) {
        return DOCKER
                .listContainersCmd()
                .withShowAll(true)
                .withLabelFilter(Map.of("org.harnesslearning.owner", owner))
                .exec()
                .stream()
                .map(container -> container.getId())
                .toList();
    }

    /** Ids of all containers of these sandboxes. */
    public List<String> containers() {
        return containersOf(settings.owner());
    }

    @Override
    public void close() {
        sandboxes.close();
        engine.close();
    }
}
