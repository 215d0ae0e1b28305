package org.harnesslearning.solver;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.harnesslearning.contracts.model.ModelInfo.Kind;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.solver.catalog.ModelCache;
import org.harnesslearning.solver.catalog.ModelCatalog;
import org.harnesslearning.solver.catalog.ModelEntry;
import org.harnesslearning.solver.inference.ModelBackend;
import org.harnesslearning.solver.inference.ModelRegistry;
import org.harnesslearning.solver.inference.ModelSettings;
import org.harnesslearning.solver.local.LocalBackend;
import org.harnesslearning.solver.local.LocalCheckpoint;
import org.harnesslearning.solver.recorded.RecordedBackend;
import org.harnesslearning.solver.remote.RemoteBackend;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Builds the registry of models from the settings. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(ModelSettings.class)
class ModelConfiguration {
    @Bean
    Clock clock() {
        return Clock.systemUTC();
    }

    @Bean
    Supplier<String> chatIds() {
        return () -> "chatcmpl-" + UUID.randomUUID().toString().replace("-", "");
    }

    /** The checkpoints of local models by path, closed with the context. */
    static final class Checkpoints implements AutoCloseable {
        private final Map<Path, LocalCheckpoint> byPath = new HashMap<>();
        private final EngineOptions options;

        Checkpoints(EngineOptions options) {
            this.options = options;
        }

        LocalCheckpoint at(Path path) {
            return byPath.computeIfAbsent(
                    path.toAbsolutePath().normalize(), file -> new LocalCheckpoint(file, options));
        }

        @Override
        public void close() {
            byPath.values().forEach(LocalCheckpoint::close);
        }
    }

    @Bean
    Checkpoints checkpoints(ModelSettings settings) {
        ModelSettings.EngineSettings engine = settings.defaults();
        EngineOptions options = EngineOptions.defaults()
                .withSlots(engine.slots())
                .withMaxSequence(engine.maxSequence())
                .withMaxQueue(engine.maxQueue())
                .withReusePrefixes(engine.reusePrefixes())
                .withPrefillChunk(engine.prefillChunk())
                .withDevice(engine.where(), engine.numberType())
                .withAdapters(
                        settings.adapters().maxResident(), settings.adapters().maxRank());
        return new Checkpoints(engine.threads() > 0 ? options.withThreads(engine.threads()) : options);
    }

    @Bean
    ModelRegistry modelRegistry(
            ModelSettings settings, Checkpoints checkpoints, Clock clock, Supplier<String> chatIds) {
        Path root = settings.cache();
        ModelCache cache = root == null ? ModelCache.of(System.getenv()) : new ModelCache(root);
        Map<String, ModelBackend> backends = new LinkedHashMap<>();
        for (ModelSettings.Model model : settings.models()) {
            String name = Objects.requireNonNull(model.name());
            Kind kind = Objects.requireNonNull(model.kind());
            backends.put(
                    name,
                    switch (kind) {
                        case LOCAL -> local(name, checkpoint(model, name, cache), checkpoints, clock, chatIds);
                        case REMOTE ->
                            new RemoteBackend(
                                    name,
                                    Objects.requireNonNull(model.baseUrl()),
                                    model.apiKey(),
                                    model.upstreamModel() == null ? name : model.upstreamModel(),
                                    model.timeout(),
                                    model.maxRetries(),
                                    model.maxModelLen(),
                                    clock,
                                    chatIds);
                        case RECORDED ->
                            new RecordedBackend(
                                    name,
                                    Objects.requireNonNull(model.file()),
                                    model.maxModelLen(),
                                    model.delay(),
                                    clock,
                                    chatIds);
                    });
        }
        if (settings.discover()) {
            for (ModelEntry entry : ModelCatalog.builtIn().entries()) {
                if (cache.has(entry.name()) && !backends.containsKey(entry.name())) {
                    backends.put(
                            entry.name(), local(entry.name(), cache.file(entry.name()), checkpoints, clock, chatIds));
                }
            }
        }
        return new ModelRegistry(backends);
    }

    private static LocalBackend local(
            String name, Path path, Checkpoints checkpoints, Clock clock, Supplier<String> chatIds) {
        return new LocalBackend(
                name,
                checkpoints.at(path),
                clock,
                chatIds,
                () -> ThreadLocalRandom.current().nextLong());
    }

    private static Path checkpoint(ModelSettings.Model model, String name, ModelCache cache) {
        String cached = model.cached() == null ? name : model.cached();
        Path path = model.checkpoint() == null ? cache.file(cached) : model.checkpoint();
        if (!Files.exists(path)) {
            throw new IllegalArgumentException(
                    "local model '%s': there is no %s; run ./harness model fetch %s".formatted(name, path, cached));
        }
        return path;
    }

    /** Runs before the service says that it is ready. */
    @Bean
    ApplicationRunner preload(ModelRegistry registry, ModelSettings settings) {
        return arguments ->
                settings.preload().forEach(name -> registry.get(name).warmUp());
    }
}
