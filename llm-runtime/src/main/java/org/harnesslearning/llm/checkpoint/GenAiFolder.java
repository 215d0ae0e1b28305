package org.harnesslearning.llm.checkpoint;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A folder of ONNX Runtime GenAI: {@code genai_config.json} and the decoder's graph as ONNX file. Its attention must be
 * able to append to a cache of fixed size ({@code past_present_share_buffer}), with cache and logits in fp32.
 */
public final class GenAiFolder {

    /** What stands for the number type, which only the graph knows. */
    public static final String NUMBER_TYPE = "onnx";

    private static final String CONFIG_FILE = "genai_config.json";
    private static final int FLOAT = 1;
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final Path folder;
    private final Path configFile;
    private final JsonNode model;
    private final JsonNode decoder;
    private final OnnxFile onnx;
    private final Set<Integer> endTokens = new TreeSet<>();

    private GenAiFolder(Path folder) {
        this.folder = folder;
        this.configFile = folder.resolve(CONFIG_FILE);
        JsonNode config;
        try {
            config = JSON.readTree(Files.readAllBytes(configFile));
        } catch (IOException e) {
            throw new CheckpointException(configFile, "cannot be read: " + e, e);
        } catch (JacksonException e) {
            throw new CheckpointException(configFile, "is no JSON: " + e.getOriginalMessage(), e);
        }
        this.model = config.path("model");
        this.decoder = model.path("decoder");
        for (String other : List.of("encoder", "vision", "speech", "embedding")) {
            if (model.has(other)) {
                throw fail("models with a part \"" + other + "\" are not supported");
            }
        }
        if (decoder.has("pipeline") || decoder.has("sliding_window")) {
            throw fail("decoders in several graphs or with a sliding window are not supported");
        }
        if (!config.at("/search/past_present_share_buffer").asBoolean(false)) {
            throw fail(
                    "past_present_share_buffer is false: a graph that makes a new cache at each step is not supported");
        }
        JsonNode end = model.path("eos_token_id");
        (end.isArray() ? end : List.of(end)).forEach(id -> {
            if (id.isInt()) {
                endTokens.add(id.asInt());
            }
        });
        Path file = graphFile();
        if (!folder.equals(file.getParent()) || !Files.isRegularFile(file)) {
            throw new CheckpointException(file, "no such file in the folder");
        }
        this.onnx = OnnxFile.read(file);
        checkGraph();
    }

    /** Whether a path is such a folder. */
    public static boolean isOne(Path path) {
        return Files.isRegularFile(path.resolve(CONFIG_FILE));
    }

    /**
     * Reads a folder's configuration, and what its graph says of inputs and outputs.
     *
     * @throws CheckpointException if it is damaged, or of a kind that is not supported
     */
    public static GenAiFolder open(Path folder) {
        return new GenAiFolder(folder);
    }

    public Path path() {
        return folder;
    }

    /** The folder's name. */
    public String name() {
        return folder.getFileName().toString();
    }

    /** The model's family, such as {@code llama} or {@code phi3}. */
    public String type() {
        return model.path("type").asString("unknown");
    }

    public Path graphFile() {
        return folder.resolve(decoder.path("filename").asString("model.onnx"));
    }

    /** Longest sequence, tokens. */
    public int contextLength() {
        return integer(model, "context_length", 1 << 30);
    }

    public int vocabulary() {
        return integer(model, "vocab_size", 1 << 28);
    }

    public int layers() {
        return integer(decoder, "num_hidden_layers", 4096);
    }

    public int keyValueHeads() {
        return integer(decoder, "num_key_value_heads", 1 << 16);
    }

    public int headSize() {
        return integer(decoder, "head_size", 1 << 14);
    }

    /** Ids that end a text. */
    public Set<Integer> endTokens() {
        return endTokens;
    }

    /** Name of the input of token ids, int64 (batch, new tokens). */
    public String inputIds() {
        return name("inputs", "input_ids", "input_ids");
    }

    /** Name of the input that marks valid tokens, int64 (batch, all tokens). */
    public String attentionMask() {
        return name("inputs", "attention_mask", "attention_mask");
    }

    /** Name of the input of positions, int64 (batch, new tokens), if the graph has one. */
    public @Nullable String positionIds() {
        String input = name("inputs", "position_ids", "position_ids");
        return onnx.inputs().containsKey(input) ? input : null;
    }

    /** Names of the cache inputs and outputs of a layer: past key, past value, present key, present value. */
    public List<String> cacheNames(int layer) {
        return List.of(
                numbered(name("inputs", "past_key_names", "past_key_values.%d.key"), layer),
                numbered(name("inputs", "past_value_names", "past_key_values.%d.value"), layer),
                numbered(name("outputs", "present_key_names", "present.%d.key"), layer),
                numbered(name("outputs", "present_value_names", "present.%d.value"), layer));
    }

    /** Name of the output of logits, float (batch, new tokens or 1, vocabulary). */
    public String logits() {
        return name("outputs", "logits", "logits");
    }

    /** Whether there are logits for the last token only. */
    public boolean lastLogitsOnly() {
        return value(onnx.outputs(), logits()).shape().get(1) == 1;
    }

    /** {@code sha256:<hex>} as that of a checkpoint of several files: the graph's and those of its weights. */
    public String weightsHash() {
        List<Path> files = new ArrayList<>(List.of(graphFile()));
        onnx.dataFiles().forEach(name -> files.add(folder.resolve(name)));
        return Checkpoint.hash(files);
    }

    private void checkGraph() {
        for (String name : onnx.dataFiles()) {
            Path file = folder.resolve(name).normalize();
            if (!file.startsWith(folder.normalize()) || !Files.isRegularFile(file)) {
                throw new CheckpointException(graphFile(), "its weights' file " + name + " is not in the folder");
            }
        }
        Set<String> given = new TreeSet<>(Set.of(inputIds(), attentionMask()));
        String positions = positionIds();
        if (positions != null) {
            given.add(positions);
        }
        for (int layer = 0; layer < layers(); layer++) {
            List<String> names = cacheNames(layer);
            for (String name : names) {
                OnnxFile.Value cache = value(names.indexOf(name) < 2 ? onnx.inputs() : onnx.outputs(), name);
                if (cache.type() != FLOAT
                        || cache.shape().size() != 4
                        || !fits(cache.shape().get(1), keyValueHeads())
                        || !fits(cache.shape().get(3), headSize())) {
                    throw new CheckpointException(
                            graphFile(),
                            "%s is no fp32 tensor (batch, %d heads, sequence, %d)"
                                    .formatted(name, keyValueHeads(), headSize()));
                }
            }
            given.addAll(names.subList(0, 2));
        }
        OnnxFile.Value logits = value(onnx.outputs(), logits());
        if (logits.type() != FLOAT
                || logits.shape().size() != 3
                || !fits(logits.shape().get(2), vocabulary())
                || contextLength() < 2) {
            throw new CheckpointException(graphFile(), logits() + " is no fp32 tensor (batch, sequence, vocabulary)");
        }
        for (String input : onnx.inputs().keySet()) {
            if (!given.contains(input)) {
                throw new CheckpointException(graphFile(), "has an input that is not supported: " + input);
            }
        }
    }

    /** Whether a dimension of the graph is free or as the configuration says. */
    private static boolean fits(long dimension, int configured) {
        return dimension == -1 || dimension == configured;
    }

    private OnnxFile.Value value(Map<String, OnnxFile.Value> values, String name) {
        OnnxFile.Value value = values.get(name);
        if (value == null) {
            throw new CheckpointException(graphFile(), "has no input or output " + name);
        }
        return value;
    }

    private String name(String side, String key, String otherwise) {
        return decoder.path(side).path(key).asString(otherwise);
    }

    private static String numbered(String pattern, int layer) {
        return pattern.replace("%d", Integer.toString(layer));
    }

    private int integer(JsonNode node, String key, int maximum) {
        JsonNode value = node.path(key);
        if (!value.isIntegralNumber() || value.asLong() < 1 || value.asLong() > maximum) {
            throw fail(key + " is " + (value.isMissingNode() ? "missing" : value));
        }
        return value.asInt();
    }

    private CheckpointException fail(String reason) {
        return new CheckpointException(configFile, reason);
    }
}
