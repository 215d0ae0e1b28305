package org.harnesslearning.llm.checkpoint;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A decoder's configuration and weights, whatever the file format.
 *
 * <p>Tensors carry the names that GGUF gives them ({@code blk.0.attn_q.weight}); matrices are (outputs, inputs). All
 * that the family needs is present and has the shape that the configuration says: that is checked on opening.
 */
public final class Checkpoint implements AutoCloseable {

    private final Path path;
    private final String name;
    private final DecoderConfig config;
    private final Map<String, Tensor> tensors;
    private final Set<Integer> endTokens;
    private final boolean interleavedHeads;
    private final List<Path> weightFiles;
    private final AutoCloseable mapping;

    Checkpoint(
            Path path,
            String name,
            DecoderConfig config,
            Map<String, Tensor> tensors,
            Set<Integer> endTokens,
            boolean interleavedHeads,
            List<Path> weightFiles,
            AutoCloseable mapping) {
        this.path = path;
        this.name = name;
        this.config = config;
        this.tensors = Collections.unmodifiableMap(new LinkedHashMap<>(tensors));
        this.endTokens = Set.copyOf(new TreeSet<>(endTokens));
        this.interleavedHeads = interleavedHeads;
        this.weightFiles = List.copyOf(weightFiles);
        this.mapping = mapping;
        checkTensors();
    }

    /**
     * Opens a GGUF file, or a Hugging Face directory.
     *
     * @throws CheckpointException if it is damaged, incomplete or of an unsupported kind
     */
    public static Checkpoint open(Path path) {
        if (Files.isDirectory(path)) {
            return HuggingFaceReader.read(path);
        }
        return GgufReader.read(path);
    }

    public Path path() {
        return path;
    }

    /** The checkpoint's own name, or that of its file. */
    public String name() {
        return name;
    }

    public DecoderConfig config() {
        return config;
    }

    /** Ids that end a text. */
    public Set<Integer> endTokens() {
        return endTokens;
    }

    /**
     * Whether the rows of each query and key head are stored in the order 0, n/2, 1, n/2 + 1, …, meant for interleaved
     * rotary embedding; half-split rotary embedding needs them in their natural order.
     */
    public boolean interleavedHeads() {
        return interleavedHeads;
    }

    /** Whether the output head has weights of its own. */
    public boolean untied() {
        return tensors.containsKey("output.weight");
    }

    /** The embedding matrix, (vocabulary, hidden). */
    public Tensor embedding() {
        return tensor("token_embd.weight");
    }

    /** The output head, (vocabulary, hidden): the embedding's own matrix where they are tied. */
    public Tensor head() {
        return untied() ? tensor("output.weight") : embedding();
    }

    public Tensor tensor(String tensorName) {
        Tensor tensor = tensors.get(tensorName);
        if (tensor == null) {
            throw new CheckpointException(path, "tensor " + tensorName + " is missing");
        }
        return tensor;
    }

    /** All tensors. */
    public Collection<Tensor> tensors() {
        return tensors.values();
    }

    /** A tensor of block {@code layer}, e.g. {@code attn_q.weight}. */
    public Tensor tensor(int layer, String part) {
        return tensor("blk." + layer + "." + part);
    }

    /** The tensor if the checkpoint has it. */
    public @Nullable Tensor find(int layer, String part) {
        return tensors.get("blk." + layer + "." + part);
    }

    /** Number of weights. */
    public long parameters() {
        return tensors.values().stream().mapToLong(Tensor::elements).sum();
    }

    /** The type that most weights have. */
    public TensorType commonestType() {
        Map<TensorType, Long> counts = new EnumMap<>(TensorType.class);
        for (Tensor tensor : tensors.values()) {
            counts.merge(tensor.type(), tensor.elements(), Long::sum);
        }
        return Collections.max(counts.entrySet(), Map.Entry.comparingByValue()).getKey();
    }

    /**
     * {@code sha256:<hex>} of the weights file; where there are several, of the lines {@code <hex> <name>} in the order
     * of their names.
     */
    public String weightsHash() {
        return hash(weightFiles);
    }

    /** The same of any files. */
    static String hash(List<Path> files) {
        if (files.size() == 1) {
            return "sha256:" + sha256(files.getFirst());
        }
        MessageDigest digest = newDigest();
        files.stream()
                .sorted()
                .forEach(file -> digest.update((sha256(file) + " " + file.getFileName() + "\n")
                        .getBytes(java.nio.charset.StandardCharsets.UTF_8)));
        return "sha256:" + HexFormat.of().formatHex(digest.digest());
    }

    /** Unmaps the files; no tensor's data can be read afterwards. */
    @Override
    public void close() {
        try {
            mapping.close();
        } catch (Exception e) {
            throw new CheckpointException(path, "cannot be unmapped", e);
        }
    }

    private void checkTensors() {
        DecoderConfig c = config;
        long hidden = c.hidden();
        check("token_embd.weight", c.vocabulary(), hidden);
        check("output_norm.weight", hidden);
        if (untied()) {
            check("output.weight", c.vocabulary(), hidden);
        }
        for (int layer = 0; layer < c.layers(); layer++) {
            String block = "blk." + layer + ".";
            check(block + "attn_norm.weight", hidden);
            check(block + "attn_q.weight", c.queryWidth(), hidden);
            check(block + "attn_k.weight", c.keyValueWidth(), hidden);
            check(block + "attn_v.weight", c.keyValueWidth(), hidden);
            check(block + "attn_output.weight", hidden, c.queryWidth());
            check(block + "ffn_norm.weight", hidden);
            check(block + "ffn_gate.weight", c.feedForward(), hidden);
            check(block + "ffn_up.weight", c.feedForward(), hidden);
            check(block + "ffn_down.weight", hidden, c.feedForward());
            checkIf(c.architecture() == Architecture.QWEN3, block + "attn_q_norm.weight", c.headSize());
            checkIf(c.architecture() == Architecture.QWEN3, block + "attn_k_norm.weight", c.headSize());
            checkIf(c.architecture() == Architecture.QWEN2, block + "attn_q.bias", c.queryWidth());
            checkIf(c.architecture() == Architecture.QWEN2, block + "attn_k.bias", c.keyValueWidth());
            checkIf(c.architecture() == Architecture.QWEN2, block + "attn_v.bias", c.keyValueWidth());
            checkIf(false, block + "attn_output.bias", hidden);
            checkIf(false, block + "ffn_gate.bias", c.feedForward());
            checkIf(false, block + "ffn_up.bias", c.feedForward());
            checkIf(false, block + "ffn_down.bias", hidden);
        }
        if (tensors.containsKey("blk." + c.layers() + ".attn_norm.weight")) {
            throw new CheckpointException(path, "has more blocks than the " + c.layers() + " it declares");
        }
    }

    private void checkIf(boolean required, String tensorName, long... shape) {
        if (required || tensors.containsKey(tensorName)) {
            check(tensorName, shape);
        }
    }

    private void check(String tensorName, long... shape) {
        List<Long> expected = java.util.Arrays.stream(shape).boxed().toList();
        if (!tensor(tensorName).shape().equals(expected)) {
            throw new CheckpointException(
                    path,
                    "tensor " + tensorName + " has shape " + tensor(tensorName).shape() + ", the configuration says "
                            + expected);
        }
    }

    private static String sha256(Path file) {
        MessageDigest digest = newDigest();
        try (InputStream in = Files.newInputStream(file)) {
            byte[] buffer = new byte[1 << 20];
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                digest.update(buffer, 0, n);
            }
        } catch (IOException e) {
            throw new CheckpointException(file, "cannot be read: " + e.getMessage(), e);
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    /** Lower-case hex. */
    static String sha256(byte[] bytes) {
        return HexFormat.of().formatHex(newDigest().digest(bytes));
    }

    private static MessageDigest newDigest() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
