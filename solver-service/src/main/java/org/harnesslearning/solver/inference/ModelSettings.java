package org.harnesslearning.solver.inference;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.harnesslearning.contracts.model.ModelInfo.Kind;
import org.harnesslearning.llm.Device;
import org.harnesslearning.llm.NumberType;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Which models the endpoint serves.
 *
 * @param models models by name
 * @param discover whether every catalogue model in the cache is served under its short name too, loaded on first use
 * @param cache model cache; default: the user's
 * @param adapters LoRA adapters of local models
 * @param registry where versions of adapters are stored
 * @param preload names loaded before the service says that it is ready
 * @param defaults engine settings of local models
 * @param stallTimeout time that one turn of an engine, of at most two model steps, may take; after it the service is not
 *     alive
 * @param drainTimeout time that running calls have to finish once the service shuts down; what runs longer is cancelled
 */
@ConfigurationProperties(prefix = "solver", ignoreUnknownFields = false)
public record ModelSettings(
        @DefaultValue List<Model> models,
        @DefaultValue("true") boolean discover,
        @Nullable Path cache,
        @DefaultValue AdapterSettings adapters,
        @DefaultValue RegistrySettings registry,
        @DefaultValue List<String> preload,
        @DefaultValue EngineSettings defaults,
        @DefaultValue("120s") Duration stallTimeout,
        @DefaultValue("45s") Duration drainTimeout) {

    public ModelSettings {
        models = List.copyOf(models);
        preload = List.copyOf(preload);
        List<String> faults = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (Model model : models) {
            faults.addAll(model.faults());
            if (!names.add(String.valueOf(model.name()))) {
                faults.add("model '" + model.name() + "' is defined twice");
            }
        }
        if (!faults.isEmpty()) {
            throw new IllegalArgumentException("solver.models: " + String.join("; ", faults));
        }
    }

    /**
     * One model.
     *
     * @param name name in requests
     * @param kind where replies come from
     * @param checkpoint local: GGUF file or Hugging Face directory; default: the cache file of {@code cached}
     * @param cached local: short name in the cache; default: {@code name}
     * @param baseUrl remote: such as {@code https://example.org/v1}
     * @param apiKey remote: bearer key; none is sent where it is absent
     * @param upstreamModel remote: the model's name there; default: {@code name}
     * @param timeout remote: most time for one answer
     * @param maxRetries remote: repetitions after a failure that may pass, with growing pauses
     * @param maxModelLen remote and recorded: context length, where known
     * @param file recorded: JSON lines
     * @param delay recorded: how long each answer takes, as a model would need time
     */
    public record Model(
            @Nullable String name,
            @Nullable Kind kind,
            @Nullable Path checkpoint,
            @Nullable String cached,
            @Nullable URI baseUrl,
            @Nullable String apiKey,
            @Nullable String upstreamModel,
            @DefaultValue("300s") Duration timeout,
            @DefaultValue("2") int maxRetries,
            @Nullable Integer maxModelLen,
            @Nullable Path file,
            @DefaultValue("0s") Duration delay) {
        List<String> faults() {
            if (name == null || name.isBlank()) {
                return List.of("a model has no name");
            }
            if (kind == null) {
                return List.of("model '" + name + "' has no kind (local, remote or recorded)");
            }
            List<String> faults = new ArrayList<>();
            if (kind == Kind.REMOTE && baseUrl == null) {
                faults.add("remote model '" + name + "' needs base-url");
            }
            if (kind == Kind.RECORDED && file == null) {
                faults.add("recorded model '" + name + "' needs file");
            }
            if (maxRetries < 0 || maxRetries > 10) {
                faults.add("model '" + name + "': max-retries must lie in 0..10");
            }
            return faults;
        }

        /** Without the key, which must not reach a log. */
        @Override
        public String toString() {
            return "Model[" + name + ", " + kind + "]";
        }
    }

    /**
     * Adapters.
     *
     * @param folder folder below which load requests name adapters; without it none can be loaded
     * @param maxResident adapters that each local model may have resident; 0 makes models that take none, whose steps are a
     *     little faster
     * @param maxRank most rank of an adapter
     */
    public record AdapterSettings(
            @Nullable Path folder,
            @DefaultValue("0") int maxResident,
            @DefaultValue("64") int maxRank) {}

    /**
     * The model registry in the platform's database.
     *
     * @param url JDBC URL; without it this server knows no names and versions of the registry
     */
    public record RegistrySettings(
            @Nullable String url,
            @Nullable String username,
            @Nullable String password) {
        /** Without the password, which must not reach a log. */
        @Override
        public String toString() {
            return "RegistrySettings[" + url + ", " + username + "]";
        }
    }

    /**
     * Engine settings; see {@link org.harnesslearning.llm.EngineOptions}.
     *
     * @param slots sequences decoded together
     * @param maxSequence most tokens of prompt and reply
     * @param maxQueue requests that may wait; more are refused with 429
     * @param threads threads of one model step; 0 takes all processors
     * @param reusePrefixes whether prompts that begin like an earlier one reuse its keys and values; with quantised weights
     *     a reused prefix changes the logits in the second decimal, since one row takes another kernel than many
     * @param device where models run
     * @param deviceId which GPU, by CUDA's ordinal
     * @param numberType number type of dense weights, activations and cache on a GPU
     * @param prefillChunk prompt tokens processed between two decode steps; 0 chooses by device
     */
    public record EngineSettings(
            @DefaultValue("8") int slots,
            @DefaultValue("4096") int maxSequence,
            @DefaultValue("256") int maxQueue,
            @DefaultValue("0") int threads,
            @DefaultValue("true") boolean reusePrefixes,
            @DefaultValue("cpu") DeviceKind device,
            @DefaultValue("0") int deviceId,
            @DefaultValue("auto") NumberType numberType,
            @DefaultValue("0") int prefillChunk) {

        /** Where models run, for the engine. */
        public Device where() {
            return switch (device) {
                case CPU -> Device.cpu();
                case CUDA -> Device.cuda(deviceId);
            };
        }
    }

    /** A kind of device. */
    public enum DeviceKind {
        /** The host's processor. */
        CPU,
        /** An NVIDIA GPU. */
        CUDA
    }
}
