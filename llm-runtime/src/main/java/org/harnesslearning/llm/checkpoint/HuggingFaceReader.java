package org.harnesslearning.llm.checkpoint;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Finds a decoder's configuration and weights in a directory as Hugging Face Transformers saves it. */
final class HuggingFaceReader {

    private static final JsonMapper JSON = JsonMapper.builder().build();

    /** GGUF's name for each module of a layer. */
    static final Map<String, String> LAYER_PARTS = Map.ofEntries(
            Map.entry("input_layernorm", "attn_norm"),
            Map.entry("self_attn.q_proj", "attn_q"),
            Map.entry("self_attn.k_proj", "attn_k"),
            Map.entry("self_attn.v_proj", "attn_v"),
            Map.entry("self_attn.o_proj", "attn_output"),
            Map.entry("self_attn.q_norm", "attn_q_norm"),
            Map.entry("self_attn.k_norm", "attn_k_norm"),
            Map.entry("post_attention_layernorm", "ffn_norm"),
            Map.entry("mlp.gate_proj", "ffn_gate"),
            Map.entry("mlp.up_proj", "ffn_up"),
            Map.entry("mlp.down_proj", "ffn_down"));

    private final Path directory;
    private final Path configFile;
    private final JsonNode config;

    private HuggingFaceReader(Path directory) {
        this.directory = directory;
        this.configFile = directory.resolve("config.json");
        this.config = readJson(configFile);
    }

    static Checkpoint read(Path directory) {
        return new HuggingFaceReader(directory).checkpoint();
    }

    private Checkpoint checkpoint() {
        String type = config.path("model_type").asString("");
        Architecture architecture = switch (type) {
            case "llama" -> Architecture.LLAMA;
            case "qwen2" -> Architecture.QWEN2;
            case "qwen3" -> Architecture.QWEN3;
            default -> throw fail("model_type \"" + type + "\" is not supported (llama, qwen2 and qwen3 are)");
        };
        String activation = config.path("hidden_act").asString("silu");
        if (!activation.equals("silu")) {
            throw fail("hidden_act \"" + activation + "\" is not supported");
        }
        if (config.path("use_sliding_window").asBoolean(false)) {
            throw fail("sliding-window attention is not supported");
        }
        int hidden = integer("hidden_size", 1 << 20);
        int heads = integer("num_attention_heads", 1 << 16);
        int keyValueHeads = config.has("num_key_value_heads") ? integer("num_key_value_heads", 1 << 16) : heads;
        int headSize = config.path("head_dim").isNumber() ? integer("head_dim", 1 << 14) : hidden / heads;
        if (heads % keyValueHeads != 0 || headSize % 2 != 0) {
            throw fail("the head counts do not divide");
        }
        DecoderConfig decoder = new DecoderConfig(
                architecture,
                integer("num_hidden_layers", 4096),
                hidden,
                heads,
                keyValueHeads,
                headSize,
                integer("intermediate_size", 1 << 24),
                integer("vocab_size", 1 << 28),
                integer("max_position_embeddings", 1 << 30),
                (float) config.path("rms_norm_eps").asDouble(1e-6),
                rope(headSize));
        List<Path> files = weightFiles();
        List<Safetensors> open = new ArrayList<>();
        AutoCloseable mapping = () -> open.forEach(Safetensors::close);
        try {
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            for (Path file : files) {
                Safetensors part = Safetensors.open(file);
                open.add(part);
                for (Tensor tensor : part.tensors().values()) {
                    add(tensors, tensor, file);
                }
            }
            if (config.path("tie_word_embeddings").asBoolean(false)) {
                tensors.remove("output.weight"); // some writers store the tied matrix twice
            } else if (!tensors.containsKey("output.weight")) {
                throw new CheckpointException(files.getFirst(), "tensor lm_head.weight is missing");
            }
            return new Checkpoint(
                    directory,
                    directory.getFileName().toString(),
                    decoder,
                    tensors,
                    endTokens(),
                    false,
                    files,
                    mapping);
        } catch (RuntimeException e) {
            open.forEach(Safetensors::close);
            throw e;
        }
    }

    private static void add(Map<String, Tensor> tensors, Tensor tensor, Path file) {
        String name = canonicalName(tensor.name());
        if (name.isEmpty()) {
            return;
        }
        Tensor renamed = new Tensor(name, tensor.type(), tensor.shape(), tensor.data());
        if (tensors.putIfAbsent(name, renamed) != null) {
            throw new CheckpointException(file, "tensor " + tensor.name() + " occurs twice");
        }
    }

    /** GGUF's name of a tensor; empty for one that can be computed. */
    static String canonicalName(String name) {
        String inner = name.startsWith("model.") ? name.substring("model.".length()) : name;
        switch (inner) {
            case "embed_tokens.weight" -> {
                return "token_embd.weight";
            }
            case "norm.weight" -> {
                return "output_norm.weight";
            }
            case "lm_head.weight" -> {
                return "output.weight";
            }
            default -> {}
        }
        if (inner.endsWith("rotary_emb.inv_freq")) {
            return "";
        }
        String[] parts = inner.split("\\.", 3);
        if (parts.length == 3 && parts[0].equals("layers")) {
            int dot = parts[2].lastIndexOf('.');
            String part = dot < 0 ? null : LAYER_PARTS.get(parts[2].substring(0, dot));
            if (part != null) {
                return "blk." + parts[1] + "." + part + parts[2].substring(dot);
            }
        }
        return inner;
    }

    private Rope rope(int headSize) {
        // Transformers 5 writes rope_parameters; earlier versions rope_theta and rope_scaling.
        JsonNode parameters = config.path("rope_parameters").isObject() ? config.path("rope_parameters") : config;
        JsonNode scaling = config.path("rope_parameters").isObject() ? parameters : config.path("rope_scaling");
        if (config.path("partial_rotary_factor").asDouble(1) != 1
                || parameters.path("partial_rotary_factor").asDouble(1) != 1) {
            throw fail("partial rotary embedding is not supported");
        }
        Rope rope = Rope.of(parameters.path("rope_theta").asDouble(10_000), headSize);
        String type = scaling.path("rope_type").asString(scaling.path("type").asString("default"));
        return switch (type) {
            case "default" -> rope;
            case "linear" -> rope.linear(scaling.path("factor").asDouble(1));
            case "llama3" ->
                rope.llama3(
                        scaling.path("factor").asDouble(8),
                        scaling.path("low_freq_factor").asDouble(1),
                        scaling.path("high_freq_factor").asDouble(4),
                        scaling.path("original_max_position_embeddings").asDouble(8192));
            default -> throw fail("rotary scaling \"" + type + "\" is not supported");
        };
    }

    private List<Path> weightFiles() {
        Path index = directory.resolve("model.safetensors.index.json");
        if (!Files.exists(index)) {
            return List.of(directory.resolve("model.safetensors"));
        }
        Map<String, Path> files = new HashMap<>();
        for (JsonNode file : readJson(index).path("weight_map").values()) {
            String name = file.asString("");
            if (!name.matches("[A-Za-z0-9._-]+") || name.startsWith(".")) {
                throw new CheckpointException(index, "names a file outside the directory: " + name);
            }
            files.put(name, directory.resolve(name));
        }
        if (files.isEmpty()) {
            throw new CheckpointException(index, "names no file");
        }
        return files.values().stream().sorted().toList();
    }

    private Set<Integer> endTokens() {
        Path generation = directory.resolve("generation_config.json");
        Set<Integer> ids = new TreeSet<>();
        addIds(ids, config.path("eos_token_id"));
        if (Files.exists(generation)) {
            addIds(ids, readJson(generation).path("eos_token_id"));
        }
        return ids;
    }

    private static void addIds(Set<Integer> ids, JsonNode node) {
        if (node.isInt()) {
            ids.add(node.asInt());
        } else if (node.isArray()) {
            node.forEach(id -> addIds(ids, id));
        }
    }

    private int integer(String key, int maximum) {
        JsonNode node = config.path(key);
        if (!node.isIntegralNumber() || node.asLong() < 1 || node.asLong() > maximum) {
            throw fail(key + " is " + (node.isMissingNode() ? "missing" : node));
        }
        return node.asInt();
    }

    private CheckpointException fail(String reason) {
        return new CheckpointException(configFile, reason);
    }

    private static JsonNode readJson(Path file) {
        try {
            return JSON.readTree(Files.readAllBytes(file));
        } catch (IOException e) {
            throw new CheckpointException(file, "cannot be read: " + e, e);
        } catch (JacksonException e) {
            throw new CheckpointException(file, "is no JSON: " + e.getOriginalMessage(), e);
        }
    }
}
