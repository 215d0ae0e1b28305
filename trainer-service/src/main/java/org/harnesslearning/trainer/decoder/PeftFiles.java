package org.harnesslearning.trainer.decoder;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.Channels;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.checkpoint.Safetensors;
import org.harnesslearning.llm.checkpoint.TensorType;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** An adapter's way into and out of the files of Hugging Face PEFT. */
final class PeftFiles {

    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final Path source;
    private final String baseName;
    private final DecoderConfig config;
    private final Adapter adapter;

    PeftFiles(Path source, String baseName, DecoderConfig config, Adapter adapter) {
        this.source = source;
        this.baseName = baseName;
        this.config = config;
        this.adapter = adapter;
    }

    /** The files of the adapter as it is now. */
    @SuppressWarnings("try")
    LoraFiles write(String baseHash, Precision precision) {
        boolean wide = precision == Precision.FP32;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (PointerScope scope = new PointerScope()) {
            List<org.harnesslearning.llm.checkpoint.Tensor> tensors = new ArrayList<>();
            for (AdapterParameter parameter : adapter.parameters()) {
                Tensor values = parameter
                        .value()
                        .cpu()
                        .to(wide ? ScalarType.Float : ScalarType.BFloat16)
                        .contiguous();
                tensors.add(new org.harnesslearning.llm.checkpoint.Tensor(
                        parameter.name(),
                        wide ? TensorType.F32 : TensorType.BF16,
                        List.of(values.size(0), values.size(1)),
                        Torch.memory(values)));
            }
            tensors.sort(Comparator.comparing(org.harnesslearning.llm.checkpoint.Tensor::name));
            Safetensors.write(
                    Channels.newChannel(out), Map.of("format", "pt", LoraAdapter.BASE_HASH, baseHash), tensors);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new LoraFiles(config(), out.toByteArray());
    }

    private byte[] config() {
        LoraSettings lora = adapter.settings();
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("base_model_name_or_path", baseName);
        json.put("bias", "none");
        json.put("fan_in_fan_out", false);
        json.put("inference_mode", true);
        json.put("init_lora_weights", true);
        json.put("lora_alpha", lora.alpha() == Math.rint(lora.alpha()) ? (Object) (long) lora.alpha() : lora.alpha());
        json.put("lora_dropout", lora.dropout());
        json.put("modules_to_save", null);
        json.put("peft_type", "LORA");
        json.put("r", lora.rank());
        json.put("target_modules", lora.targetModules());
        json.put("task_type", "CAUSAL_LM");
        json.put("use_rslora", lora.rankStabilised());
        return JSON.writerWithDefaultPrettyPrinter().writeValueAsBytes(json);
    }

    /** Replaces the adapter's weights by those of the files. */
    void read(LoraFiles files, String baseHash) {
        LoraAdapter checked = LoraAdapter.of(source, files.config(), files.weights());
        checked.checkBase(baseHash);
        checked.checkShapes(config);
        checkForm(settings(source, files.config()));
        Map<String, org.harnesslearning.llm.checkpoint.Tensor> stored =
                Safetensors.of(source, MemorySegment.ofArray(files.weights())).tensors();
        List<Tensor> loaded = new ArrayList<>();
        for (AdapterParameter parameter : adapter.parameters()) {
            loaded.add(values(parameter, stored));
        }
        if (stored.size() != loaded.size()) {
            throw new CheckpointException(
                    source, "the adapter has " + stored.size() + " factors, this decoder's " + loaded.size());
        }
        // Only now: an adapter that does not fit leaves the weights as they are.
        for (int i = 0; i < loaded.size(); i++) {
            adapter.parameters().get(i).value().copy_(loaded.get(i));
        }
    }

    private Tensor values(AdapterParameter parameter, Map<String, org.harnesslearning.llm.checkpoint.Tensor> stored) {
        org.harnesslearning.llm.checkpoint.Tensor tensor = stored.get(parameter.name());
        // Some writers leave out the inner "model.".
        if (tensor == null) {
            tensor = stored.get(parameter.name().replace("base_model.model.model.", "base_model.model."));
        }
        List<Long> shape = List.of(parameter.value().size(0), parameter.value().size(1));
        if (tensor == null || !tensor.shape().equals(shape)) {
            throw new CheckpointException(
                    source,
                    "the adapter's factor " + parameter.name() + " is "
                            + (tensor == null ? "missing" : "of shape " + tensor.shape())
                            + ", this decoder's has shape "
                            + shape);
        }
        ScalarType type = switch (tensor.type()) {
            case F16 -> ScalarType.Half;
            case BF16 -> ScalarType.BFloat16;
            default -> ScalarType.Float;
        };
        Tensor values = Torch.empty(new TensorOptions(type), shape.get(0), shape.get(1));
        Torch.memory(values).copyFrom(tensor.data());
        return values;
    }

    private void checkForm(LoraSettings other) {
        LoraSettings own = adapter.settings();
        if (other.rank() != own.rank()
                || other.scale() != own.scale()
                || !other.targetModules().equals(own.targetModules())) {
            throw new CheckpointException(
                    source,
                    "the adapter has rank " + other.rank() + ", scale " + other.scale() + " and the targets "
                            + other.targetModules() + "; this decoder was opened with rank " + own.rank() + ", scale "
                            + own.scale() + " and " + own.targetModules());
        }
    }

    /**
     * The form of an adapter.
     *
     * @param source its name in errors
     * @throws CheckpointException if it is one that cannot be trained on
     */
    static LoraSettings settings(Path source, byte[] config) {
        JsonNode json;
        try {
            json = JSON.readTree(config);
        } catch (JacksonException e) {
            throw new CheckpointException(
                    source, LoraAdapter.CONFIG_FILE + " is no JSON: " + e.getOriginalMessage(), e);
        }
        for (String pattern : List.of("rank_pattern", "alpha_pattern", "layers_to_transform")) {
            if (!json.path(pattern).isNull() && !json.path(pattern).isEmpty()) {
                throw new CheckpointException(source, pattern + " is not supported in training");
            }
        }
        Set<String> targets = new TreeSet<>();
        // A target is a module's name or its whole path; that every layer has it is checked with the factors.
        json.path("target_modules")
                .forEach(target -> targets.add(target.asString("").replaceFirst(".*\\.", "")));
        if (json.path("target_modules").asString("").equals("all-linear")) {
            targets.addAll(LoraSettings.ALL_MODULES);
        }
        try {
            return new LoraSettings(
                    json.path("r").asInt(0),
                    json.path("lora_alpha").asDouble(8),
                    json.path("lora_dropout").asDouble(0),
                    json.path("use_rslora").asBoolean(false),
                    targets);
        } catch (IllegalArgumentException e) {
            throw new CheckpointException(source, LoraAdapter.CONFIG_FILE + ": " + e.getMessage(), e);
        }
    }
}
