package org.harnesslearning.solver.adapter;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.solver.inference.ModelBackend;
import org.harnesslearning.solver.inference.ModelRegistry;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** Loads and unloads adapters by request, with vLLM's paths and field names. */
@RestController
class AdapterController {
    private static final Logger LOG = LoggerFactory.getLogger(AdapterController.class);
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}");

    private final ModelRegistry registry;
    private final AdapterSource source;

    AdapterController(ModelRegistry registry, AdapterSource source) {
        this.registry = registry;
        this.source = source;
    }

    /**
     * A load request.
     *
     * @param loraName name that requests will use
     * @param loraPath folder of the adapter, within the folder of adapters
     * @param baseModelName the model that it adapts; may be left out where one model alone takes adapters
     * @param loadInplace whether the name may belong to another adapter now: calls that run end with that one
     */
    record LoadBody(
            @Nullable String loraName,
            @Nullable String loraPath,
            @Nullable String baseModelName,
            @Nullable Boolean loadInplace) {}

    /** An unload request. */
    record UnloadBody(@Nullable String loraName) {}

    /** The answer to an unload request. */
    record Unloaded(String loraName) {}

    /** Makes an adapter resident; answers the model that it makes. */
    @PostMapping("/v1/load_lora_adapter")
    ModelInfo load(@RequestBody LoadBody body) {
        String name = body.loraName();
        if (name == null || !NAME.matcher(name).matches()) {
            throw invalid("/lora_name", "A name of at most 200 letters, digits and . _ : / - is needed");
        }
        if (body.loraPath() == null || body.loraPath().isBlank()) {
            throw invalid("/lora_path", "The adapter's path is needed");
        }
        ModelBackend base = base(body.baseModelName());
        LoraAdapter adapter = source.find(body.loraPath());
        ModelInfo info = registry.load(name, base, adapter, Boolean.TRUE.equals(body.loadInplace()))
                .info();
        LOG.info("adapter {} ({}) loaded on {}", name, adapter.hash(), base.name());
        return info;
    }

    /** Takes an adapter's name away, and answers once the requests that use it have ended. */
    @PostMapping("/v1/unload_lora_adapter")
    Unloaded unload(@RequestBody UnloadBody body) {
        if (body.loraName() == null) {
            throw invalid("/lora_name", "The adapter's name is needed");
        }
        registry.unload(body.loraName());
        LOG.info("adapter {} unloaded", body.loraName());
        return new Unloaded(body.loraName());
    }

    private ModelBackend base(@Nullable String name) {
        if (name != null) {
            ModelBackend base = registry.get(name);
            if (!base.takesAdapters()) {
                throw invalid("/base_model_name", "'" + name + "' takes no adapters");
            }
            return base;
        }
        List<ModelBackend> able = new ArrayList<>();
        registry.all().stream().filter(ModelBackend::takesAdapters).forEach(able::add);
        if (able.size() == 1) {
            return able.getFirst();
        }
        throw invalid(
                "/base_model_name",
                able.isEmpty()
                        ? "No model of this server takes adapters: see solver.adapters.max-resident"
                        : "Which model it adapts is needed: one of "
                                + String.join(
                                        ", ",
                                        able.stream().map(ModelBackend::name).toList()));
    }

    private static PlatformException invalid(String pointer, String detail) {
        return PlatformException.field(ErrorCode.INVALID_FIELD, pointer, detail);
    }
}
