package org.harnesslearning.llm.checkpoint;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Finds a decoder's configuration and weights in a GGUF file. */
final class GgufReader {

    /** Texts that end a turn or a document in the supported families, when they are control tokens. */
    private static final Set<String> END_TEXTS =
            Set.of("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "</s>");

    private static final long CONTROL_TOKEN = 3;

    private final Gguf gguf;
    private final Path path;
    private final String prefix;

    private GgufReader(Gguf gguf, String architecture) {
        this.gguf = gguf;
        this.path = gguf.path();
        this.prefix = architecture + ".";
    }

    static Checkpoint read(Path path) {
        Gguf gguf = Gguf.open(path);
        try {
            if (!(gguf.metadata().get("general.architecture") instanceof String architecture)) {
                throw new CheckpointException(path, "general.architecture is missing");
            }
            return new GgufReader(gguf, architecture).checkpoint(architecture);
        } catch (RuntimeException e) {
            gguf.close();
            throw e;
        }
    }

    private Checkpoint checkpoint(String id) {
        Architecture architecture = null;
        for (Architecture candidate : Architecture.values()) {
            if (candidate.id().equals(id)) {
                architecture = candidate;
            }
        }
        if (architecture == null) {
            throw new CheckpointException(
                    path, "architecture \"" + id + "\" is not supported (llama, qwen2 and qwen3 are)");
        }
        if (gguf.metadata().containsKey(prefix + "expert_count") && integer("expert_count", 0, 4096) > 0) {
            throw new CheckpointException(path, "mixture-of-experts models are not supported");
        }
        int hidden = integer("embedding_length", 1, 1 << 20);
        int heads = integer("attention.head_count", 1, 1 << 16);
        int keyValueHeads = integerOr("attention.head_count_kv", heads, 1, 1 << 16);
        int headSize = integerOr("attention.key_length", hidden / heads, 2, 1 << 14);
        if (heads % keyValueHeads != 0) {
            throw new CheckpointException(
                    path, heads + " heads do not divide by " + keyValueHeads + " key-value heads");
        }
        if (integerOr("attention.value_length", headSize, 1, 1 << 14) != headSize
                || integerOr("rope.dimension_count", headSize, 1, 1 << 14) != headSize
                || headSize % 2 != 0) {
            throw new CheckpointException(path, "keys, values and rotary embedding of different widths");
        }
        Map<String, Tensor> tensors = new LinkedHashMap<>(gguf.tensors());
        Tensor embedding = tensors.get("token_embd.weight");
        if (embedding == null || embedding.shape().size() != 2) {
            throw new CheckpointException(path, "tensor token_embd.weight is missing or no matrix");
        }
        DecoderConfig config = new DecoderConfig(
                architecture,
                integer("block_count", 1, 4096),
                hidden,
                heads,
                keyValueHeads,
                headSize,
                integer("feed_forward_length", 1, 1 << 24),
                Math.toIntExact(embedding.shape().getFirst()),
                integer("context_length", 1, 1 << 30),
                (float) real("attention.layer_norm_rms_epsilon"),
                rope(headSize, tensors));
        String name = gguf.metadata().get("general.name") instanceof String s
                ? s
                : path.getFileName().toString();
        return new Checkpoint(
                path, name, config, tensors, endTokens(), architecture == Architecture.LLAMA, List.of(path), gguf);
    }

    private Rope rope(int headSize, Map<String, Tensor> tensors) {
        Rope rope = Rope.of(realOr("rope.freq_base", 10_000), headSize);
        Object scaling = gguf.metadata().getOrDefault(prefix + "rope.scaling.type", "none");
        if ("linear".equals(scaling)) {
            rope = rope.linear(real("rope.scaling.factor"));
        } else if (!"none".equals(scaling)) {
            throw new CheckpointException(path, "rotary scaling \"" + scaling + "\" is not supported");
        }
        Tensor factors = tensors.remove("rope_freqs.weight");
        if (factors == null) {
            return rope;
        }
        if (factors.elements() != headSize / 2) {
            throw new CheckpointException(path, "rope_freqs.weight does not have " + headSize / 2 + " numbers");
        }
        return rope.divided(Dequantiser.all(factors));
    }

    private Set<Integer> endTokens() {
        Set<Integer> ids = new TreeSet<>();
        for (String key : List.of("eos_token_id", "eot_token_id", "eom_token_id")) {
            if (gguf.metadata().get("tokenizer.ggml." + key) instanceof Long id && id >= 0 && id < Integer.MAX_VALUE) {
                ids.add(id.intValue());
            }
        }
        if (gguf.metadata().get("tokenizer.ggml.tokens") instanceof List<?> tokens
                && gguf.metadata().get("tokenizer.ggml.token_type") instanceof List<?> types) {
            for (int i = 0; i < Math.min(tokens.size(), types.size()); i++) {
                if (types.get(i) instanceof Long type
                        && type == CONTROL_TOKEN
                        && tokens.get(i) instanceof String text
                        && END_TEXTS.contains(text)) {
                    ids.add(i);
                }
            }
        }
        return ids;
    }

    private int integerOr(String key, int fallback, int minimum, int maximum) {
        return gguf.metadata().containsKey(prefix + key) ? integer(key, minimum, maximum) : fallback;
    }

    private int integer(String key, int minimum, int maximum) {
        Object value = gguf.metadata().get(prefix + key);
        if (!(value instanceof Long number)) {
            throw new CheckpointException(
                    path, prefix + key + (value == null ? " is missing" : " is no single number"));
        }
        if (number < minimum || number > maximum) {
            throw new CheckpointException(path, prefix + key + " is " + number);
        }
        return number.intValue();
    }

    private double realOr(String key, double fallback) {
        return gguf.metadata().containsKey(prefix + key) ? real(key) : fallback;
    }

    private double real(String key) {
        Object value = gguf.metadata().get(prefix + key);
        if (!(value instanceof Double number) || !(number > 0) || number.isInfinite()) {
            throw new CheckpointException(path, prefix + key + " is " + (value == null ? "missing" : value));
        }
        return number;
    }
}
