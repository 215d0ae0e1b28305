package org.harnesslearning.solver;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.harnesslearning.contracts.model.ModelInfo.Kind;
import org.harnesslearning.llm.NumberType;
import org.harnesslearning.solver.inference.ModelBackend;
import org.harnesslearning.solver.inference.ModelRegistry;
import org.harnesslearning.solver.inference.ModelSettings;
import org.harnesslearning.solver.inference.ModelSettings.DeviceKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** The settings: every default, every key, and what fails the start. */
class ModelConfigurationTest {
    @TempDir
    Path folder;

    private ApplicationContextRunner with(String... settings) {
        return new ApplicationContextRunner()
                .withUserConfiguration(ModelConfiguration.class)
                .withPropertyValues("solver.cache=" + folder)
                .withPropertyValues(settings);
    }

    @Test
    void defaults() {
        new ApplicationContextRunner()
                .withUserConfiguration(ModelConfiguration.class)
                .run(context -> assertThat(context.getBean(ModelSettings.class))
                        .isEqualTo(new ModelSettings(
                                List.of(),
                                true,
                                null,
                                new ModelSettings.AdapterSettings(null, 0, 64),
                                new ModelSettings.RegistrySettings(null, null, null),
                                List.of(),
                                new ModelSettings.EngineSettings(
                                        8, 4096, 256, 0, true, DeviceKind.CPU, 0, NumberType.AUTO, 0),
                                Duration.ofSeconds(120),
                                Duration.ofSeconds(45))));
    }

    @Test
    void every_key_is_read() {
        with(
                        "solver.discover=false",
                        "solver.preload=a",
                        "solver.stall-timeout=5s",
                        "solver.drain-timeout=6s",
                        "solver.adapters.folder=" + folder,
                        "solver.adapters.max-resident=2",
                        "solver.adapters.max-rank=16",
                        "solver.registry.url=jdbc:postgresql://db/harness",
                        "solver.registry.username=reader",
                        "solver.registry.password=pw",
                        "solver.defaults.slots=3",
                        "solver.defaults.max-sequence=99",
                        "solver.defaults.max-queue=7",
                        "solver.defaults.threads=1",
                        "solver.defaults.reuse-prefixes=false",
                        "solver.models[0].name=far",
                        "solver.models[0].kind=remote",
                        "solver.models[0].base-url=http://localhost:1/v1",
                        "solver.models[0].api-key=k",
                        "solver.models[0].upstream-model=u",
                        "solver.models[0].timeout=9s",
                        "solver.models[0].max-retries=4",
                        "solver.models[0].max-model-len=1000",
                        "solver.models[0].delay=20ms")
                .run(context -> {
                    assertThat(context.getBean(ModelSettings.class))
                            .isEqualTo(new ModelSettings(
                                    List.of(new ModelSettings.Model(
                                            "far",
                                            Kind.REMOTE,
                                            null,
                                            null,
                                            URI.create("http://localhost:1/v1"),
                                            "k",
                                            "u",
                                            Duration.ofSeconds(9),
                                            4,
                                            1000,
                                            null,
                                            Duration.ofMillis(20))),
                                    false,
                                    folder,
                                    new ModelSettings.AdapterSettings(folder, 2, 16),
                                    new ModelSettings.RegistrySettings("jdbc:postgresql://db/harness", "reader", "pw"),
                                    List.of("a"),
                                    new ModelSettings.EngineSettings(
                                            3, 99, 7, 1, false, DeviceKind.CPU, 0, NumberType.AUTO, 0),
                                    Duration.ofSeconds(5),
                                    Duration.ofSeconds(6)));
                    assertThat(context.getBean(ModelSettings.class).toString()).doesNotContain("api-key", "=k,", "pw");
                    assertThat(context.getBean(ModelRegistry.class)
                                    .get("far")
                                    .info()
                                    .maxModelLen())
                            .isEqualTo(1000);
                });
    }

    @Test
    void models_in_the_cache_are_discovered() {
        with().run(context ->
                assertThat(context.getBean(ModelRegistry.class).all()).isEmpty());
        with().withInitializer(context -> {
                    Path file = folder.resolve("models/smollm2-135m/smollm2-135m.gguf");
                    try {
                        Files.createDirectories(file.getParent());
                        Files.createFile(file);
                    } catch (java.io.IOException e) {
                        throw new java.io.UncheckedIOException(e);
                    }
                })
                .run(context -> assertThat(context.getBean(ModelRegistry.class).all())
                        .extracting(ModelBackend::name)
                        .containsExactly("smollm2-135m"));
    }

    @Test
    void wrong_settings_fail_the_start_with_the_reason() {
        with("solver.models[0].name=x", "solver.models[0].kind=remote", "solver.models[1].name=x")
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("remote model 'x' needs base-url")
                        .hasStackTraceContaining("model 'x' has no kind")
                        .hasStackTraceContaining("defined twice"));
        with("solver.no-such-key=1")
                .run(context -> assertThat(context).getFailure().hasStackTraceContaining("no-such-key"));
        with("solver.models[0].name=x", "solver.models[0].kind=local")
                .run(context -> assertThat(context).getFailure().hasStackTraceContaining("harness model fetch x"));
        with(
                        "solver.models[0].name=x",
                        "solver.models[0].kind=recorded",
                        "solver.models[0].file=" + folder.resolve("absent"))
                .run(context -> assertThat(context).getFailure().hasStackTraceContaining("absent cannot be read"));
    }

    @Test
    void a_damaged_recording_names_file_and_line() throws java.io.IOException {
        Path file = folder.resolve("replies.jsonl");
        for (String line : List.of("{\"position\": \"1/0\"}", "{broken", "{\"position\": \"0/0\", \"reply\": \"y\"}")) {
            Files.writeString(file, "{\"position\": \"0/0\", \"reply\": \"x\"}\n" + line + "\n");
            with("solver.models[0].name=x", "solver.models[0].kind=recorded", "solver.models[0].file=" + file)
                    .run(context -> assertThat(context).getFailure().hasStackTraceContaining("replies.jsonl, line 2"));
        }
    }
}
