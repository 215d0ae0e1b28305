package org.harnesslearning.llm.checkpoint;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A low-rank adapter (Hu et al. 2021) in the form that Hugging Face PEFT saves: {@code adapter_config.json} and
 * {@code adapter_model.safetensors}. It is held in memory in fp32; the files are not used after reading.
 *
 * <p>What would make the result differ from PEFT's is refused: any variant but plain LoRA on the projections of
 * attention and feed-forward, trained biases, modules saved whole.
 */
public final class LoraAdapter {

    public static final String CONFIG_FILE = "adapter_config.json";
    public static final String WEIGHTS_FILE = "adapter_model.safetensors";

    /** Key in the metadata of the weights file; its value is the hash of the only base the adapter may run on. */
    public static final String BASE_HASH = "base_weights_hash";

    /** Largest rank that is read. */
    public static final int MAX_RANK = 1024;

    private static final long MAX_FILE_BYTES = Integer.MAX_VALUE - 1024;
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Pattern TENSOR =
            Pattern.compile("base_model\\.model\\.((?:model\\.)?layers\\.(\\d{1,6})\\.(.+))\\.lora_([AB])\\.weight");
    private static final Pattern LITERAL = Pattern.compile("[A-Za-z0-9_.-]+");
    private static final Set<String> PARTS =
            Set.of("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down");

    /** Fields that are checked below or do not change what a trained adapter computes. */
    private static final Set<String> KNOWN = Set.of(
            "alpha_pattern",
            "auto_mapping",
            "base_model_name_or_path",
            "bias",
            "exclude_modules",
            "inference_mode",
            "init_lora_weights",
            "layers_pattern",
            "layers_to_transform",
            "lora_alpha",
            "lora_dropout",
            "megatron_core",
            "peft_type",
            "peft_version",
            "qalora_group_size",
            "r",
            "rank_pattern",
            "revision",
            "target_modules",
            "task_type",
            "use_rslora");

    /** Initialisations that leave the base weights as they are. */
    private static final Set<String> PLAIN_STARTS = Set.of("gaussian", "eva", "orthogonal");

    private final Path path;
    private final String hash;
    private final @Nullable String baseHash;
    private final Map<String, Pair> pairs;

    /**
     * The two factors for one matrix of the base: its outputs gain {@code bᵀ · a · x}.
     *
     * @param rank rows of {@code a} and {@code b}
     * @param inputs columns of {@code a}
     * @param outputs columns of {@code b}
     * @param a (rank, inputs), row-major
     * @param b (rank, outputs), row-major, with the adapter's scale multiplied in
     */
    public record Pair(int rank, int inputs, int outputs, float[] a, float[] b) {}

    private LoraAdapter(Path path, String hash, @Nullable String baseHash, Map<String, Pair> pairs) {
        this.path = path;
        this.hash = hash;
        this.baseHash = baseHash;
        this.pairs = Collections.unmodifiableMap(pairs);
    }

    /**
     * Reads a directory with both files.
     *
     * @throws CheckpointException if one is missing or damaged, or if the adapter is of an unsupported kind
     */
    public static LoraAdapter read(Path directory) {
        return of(directory, bytes(directory.resolve(CONFIG_FILE)), bytes(directory.resolve(WEIGHTS_FILE)));
    }

    /**
     * Reads both files from memory.
     *
     * @param source what to call the adapter in errors
     * @throws CheckpointException if one is damaged, or if the adapter is of an unsupported kind
     */
    public static LoraAdapter of(Path source, byte[] config, byte[] weights) {
        return new Reader(source, config).read(hash(config, weights), weights);
    }

    /** The {@link #hash()} of an adapter of these two files, unread. */
    public static String hash(byte[] config, byte[] weights) {
        // As the hash of a checkpoint of several files: the scale stands in the configuration.
        String lines = Checkpoint.sha256(config) + " " + CONFIG_FILE + "\n" + Checkpoint.sha256(weights) + " "
                + WEIGHTS_FILE + "\n";
        return "sha256:" + Checkpoint.sha256(lines.getBytes(StandardCharsets.UTF_8));
    }

    /** {@code sha256:<hex>} of the lines {@code <hex of the file> <name of the file>} of both files. */
    public String hash() {
        return hash;
    }

    /** The factors by the base's matrix, e.g. {@code blk.0.attn_q}. */
    public Map<String, Pair> pairs() {
        return pairs;
    }

    /** The largest rank of its factors. */
    public int rank() {
        return pairs.values().stream().mapToInt(Pair::rank).max().orElse(0);
    }

    /**
     * Checks the adapter's rank.
     *
     * @throws CheckpointException if it is higher than {@code most}
     */
    public void checkRank(int most) {
        if (rank() > most) {
            throw new CheckpointException(path, "has rank " + rank() + ", at most " + most + " is allowed");
        }
    }

    /**
     * Checks that the adapter names no other base than this.
     *
     * @param baseWeights the base's hash
     * @throws CheckpointException if it does
     */
    public void checkBase(String baseWeights) {
        if (baseHash != null && !baseHash.equals(baseWeights)) {
            throw new CheckpointException(path, "was made for the base " + baseHash + ", this one is " + baseWeights);
        }
    }

    /**
     * Checks that the adapter was made for a base of this shape.
     *
     * @throws CheckpointException if not
     */
    public void checkShapes(DecoderConfig base) {
        pairs.forEach((name, pair) -> {
            String[] parts = name.split("\\.");
            if (Integer.parseInt(parts[1]) >= base.layers()) {
                throw new CheckpointException(
                        path, name + " is outside the base, which has " + base.layers() + " layers");
            }
            int inputs = switch (parts[2]) {
                case "attn_output" -> base.queryWidth();
                case "ffn_down" -> base.feedForward();
                default -> base.hidden();
            };
            int outputs = switch (parts[2]) {
                case "attn_q" -> base.queryWidth();
                case "attn_k", "attn_v" -> base.keyValueWidth();
                case "ffn_gate", "ffn_up" -> base.feedForward();
                default -> base.hidden();
            };
            if (pair.inputs() != inputs || pair.outputs() != outputs) {
                throw new CheckpointException(
                        path,
                        "is for a base whose " + name + " is (" + pair.outputs() + ", " + pair.inputs()
                                + "), this one's is (" + outputs + ", " + inputs + ")");
            }
        });
    }

    /**
     * Checks that a number type can hold the adapter.
     *
     * @param most its greatest finite number
     * @throws CheckpointException if not
     */
    public void checkRange(float most) {
        pairs.forEach((name, pair) -> {
            for (float[] factor : new float[][] {pair.a(), pair.b()}) {
                for (float value : factor) {
                    if (Math.abs(value) > most) {
                        throw new CheckpointException(
                                path, name + " has the value " + value + ", and the model's numbers end at " + most);
                    }
                }
            }
        });
    }

    private static byte[] bytes(Path file) {
        try {
            if (!Files.isRegularFile(file)) {
                throw new CheckpointException(file, "no such file");
            }
            if (Files.size(file) > MAX_FILE_BYTES) {
                throw new CheckpointException(file, "is larger than 2 GiB");
            }
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new CheckpointException(file, "cannot be read: " + e, e);
        }
    }

    /** The state of one reading. */
    private static final class Reader {

        private final Path path;
        private final Path configFile;
        private final Path weightsFile;
        private final JsonNode config;

        Reader(Path path, byte[] json) {
            this.path = path;
            this.configFile = path.resolve(CONFIG_FILE);
            this.weightsFile = path.resolve(WEIGHTS_FILE);
            try {
                this.config = JSON.readTree(json);
            } catch (JacksonException e) {
                throw new CheckpointException(configFile, "is no JSON: " + e.getOriginalMessage(), e);
            }
        }

        LoraAdapter read(String hash, byte[] bytes) {
            checkConfig();
            Safetensors file = Safetensors.of(weightsFile, MemorySegment.ofArray(bytes));
            Map<String, Tensor> downs = new TreeMap<>();
            Map<String, Tensor> ups = new TreeMap<>();
            Map<String, String> modules = new HashMap<>();
            for (Tensor tensor : file.tensors().values()) {
                Matcher matcher = TENSOR.matcher(tensor.name());
                String part = matcher.matches() ? HuggingFaceReader.LAYER_PARTS.get(matcher.group(3)) : null;
                if (part == null || !PARTS.contains(part)) {
                    throw new CheckpointException(
                            weightsFile,
                            "tensor " + tensor.name()
                                    + " is not supported (LoRA factors of the projections of attention"
                                    + " and feed-forward are)");
                }
                String name = "blk." + Integer.parseInt(matcher.group(2)) + "." + part;
                modules.put(name, matcher.group(1));
                Map<String, Tensor> side = matcher.group(4).equals("A") ? downs : ups;
                if (side.put(name, tensor) != null) {
                    throw new CheckpointException(weightsFile, "tensor " + tensor.name() + " occurs twice");
                }
            }
            if (downs.isEmpty()) {
                throw new CheckpointException(weightsFile, "has no weights");
            }
            if (!downs.keySet().equals(ups.keySet())) {
                throw new CheckpointException(weightsFile, "has one factor without the other");
            }
            checkTargets(modules);
            Map<String, Pair> pairs = new TreeMap<>();
            downs.forEach((name, down) ->
                    pairs.put(name, pair(modules.getOrDefault(name, name), down, ups.getOrDefault(name, down))));
            return new LoraAdapter(path, hash, file.metadata().get(BASE_HASH), pairs);
        }

        private void checkConfig() {
            String type = config.path("peft_type").asString("");
            if (!type.equals("LORA")) {
                throw fail("peft_type \"" + type + "\" is not supported (LORA is)");
            }
            if (config.path("use_dora").asBoolean(false)) {
                throw fail("DoRA (use_dora) is not supported");
            }
            if (!config.path("bias").asString("none").equals("none")) {
                throw fail("trained biases (bias \"" + config.path("bias").asString() + "\") are not supported");
            }
            if (isSet(config.path("modules_to_save"))) {
                throw fail("modules saved whole (modules_to_save) are not supported");
            }
            JsonNode start = config.path("init_lora_weights");
            if (start.isString() && !PLAIN_STARTS.contains(start.asString())) {
                throw fail(
                        "init_lora_weights \"" + start.asString() + "\" is not supported: it changes the base weights");
            }
            for (Map.Entry<String, JsonNode> field : config.properties()) {
                if (!KNOWN.contains(field.getKey()) && isSet(field.getValue())) {
                    throw fail(field.getKey() + " is not supported");
                }
            }
            if (config.path("r").asInt(0) < 1 || config.path("r").asInt(0) > MAX_RANK) {
                throw fail("r is " + config.path("r") + " (1 to " + MAX_RANK + " are supported)");
            }
        }

        private static boolean isSet(JsonNode value) {
            return switch (value.getNodeType()) {
                case MISSING, NULL -> false;
                case BOOLEAN -> value.asBoolean();
                case ARRAY, OBJECT -> !value.isEmpty();
                case BINARY, NUMBER, POJO, STRING -> true;
            };
        }

        /** Every module that the configuration lists must have weights: a file without them is not the whole adapter. */
        private void checkTargets(Map<String, String> modules) {
            for (JsonNode target : config.path("target_modules")) {
                String wanted = target.asString("");
                if (modules.values().stream().noneMatch(module -> names(wanted, module))) {
                    throw new CheckpointException(
                            weightsFile, "has no weights for the target module " + wanted + " of " + CONFIG_FILE);
                }
            }
        }

        private static boolean names(String suffix, String module) {
            return module.equals(suffix) || module.endsWith("." + suffix);
        }

        private Pair pair(String module, Tensor down, Tensor up) {
            if (down.shape().size() != 2 || up.shape().size() != 2) {
                throw new CheckpointException(weightsFile, "tensor " + down.name() + " or its partner is no matrix");
            }
            long declared =
                    Math.round(pattern("rank_pattern", module, config.path("r").asDouble()));
            long rank = down.shape().getFirst();
            if (rank != declared || up.shape().getLast() != rank) {
                throw new CheckpointException(
                        weightsFile,
                        module + " has factors of shapes " + down.shape() + " and " + up.shape()
                                + ", the rank should be " + declared);
            }
            double alpha =
                    pattern("alpha_pattern", module, config.path("lora_alpha").asDouble(8));
            double scale = config.path("use_rslora").asBoolean(false) ? alpha / Math.sqrt(rank) : alpha / rank;
            float[] a = finite(down);
            int rows = Math.toIntExact(rank);
            int outputs = Math.toIntExact(up.shape().getFirst());
            float[] stored = finite(up);
            float[] b = new float[stored.length];
            for (int i = 0; i < stored.length; i++) {
                b[i % rows * outputs + i / rows] = stored[i] * (float) scale;
            }
            return new Pair(rows, Math.toIntExact(down.shape().getLast()), outputs, a, b);
        }

        /** A module's own value in a pattern: the first key that is the end of its name. */
        private double pattern(String field, String module, double otherwise) {
            for (Map.Entry<String, JsonNode> entry : config.path(field).properties()) {
                String key = entry.getKey();
                if (!LITERAL.matcher(key).matches()) {
                    throw fail(field + ": regular expressions like \"" + key + "\" are not supported, names are");
                }
                if (!entry.getValue().isNumber()) {
                    throw fail(field + "." + key + " is no number");
                }
                if (names(key, module)) {
                    return entry.getValue().asDouble();
                }
            }
            return otherwise;
        }

        private float[] finite(Tensor tensor) {
            float[] values = Dequantiser.all(tensor);
            for (float value : values) {
                if (!Float.isFinite(value)) {
                    throw new CheckpointException(
                            weightsFile, "tensor " + tensor.name() + " has values that are no numbers");
                }
            }
            return values;
        }

        private CheckpointException fail(String reason) {
            return new CheckpointException(configFile, reason);
        }
    }
}
