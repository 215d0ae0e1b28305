package org.harnesslearning.executor;

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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.harnesslearning.executor.sandbox.AdmissionSettings;
import org.harnesslearning.executor.sandbox.DockerEngine;
import org.harnesslearning.executor.sandbox.DockerSandboxes;
import org.harnesslearning.executor.sandbox.ImageBuild;
import org.harnesslearning.executor.sandbox.PoolSettings;
import org.harnesslearning.executor.sandbox.SandboxSettings;
import org.harnesslearning.executor.sandbox.SelfCheck;
import org.harnesslearning.testing.SharedData;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/** Real sandboxes for a test class, under an owner label of its own, so that what it leaves behind can be told. */
public final class TestSandboxes implements AutoCloseable {
    /** The script that builds the image. */
    public static final Path IMAGE_BUILD = SharedData.root().resolve("harness-executor/sandbox-image/build.sh");

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
        Map<String, Object> all = new HashMap<>(properties);
        all.putIfAbsent(name, value);
        return all;
    }

    private static DockerClient docker() {
        DefaultDockerClientConfig config =
                DefaultDockerClientConfig.createDefaultConfigBuilder().build();
        return DockerClientImpl.getInstance(
                config,
                new ZerodepDockerHttpClient.Builder()
                        .dockerHost(config.getDockerHost())
                        .build());
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
