package org.harnesslearning.llm.tokenizer;

import java.util.List;
import java.util.Map;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * How a family cuts text into words before merging, by the name that GGUF files give in {@code tokenizer.ggml.pre}.
 * A GGUF file holds the name only; the expressions are those of the makers' own {@code tokenizer.json} files.
 */
enum PreTokenizer {
    /** Qwen2, Qwen2.5, Qwen3: single digits, NFC. */
    QWEN2(
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                    + "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
            true,
            false),
    /** Llama 3: groups of at most three digits; a word that is a vocabulary entry is taken whole. */
    LLAMA3(
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                    + "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
            false,
            true),
    /** SmolLM, SmolLM2, StarCoder: GPT-2's expression after cutting out single digits. */
    SMOLLM("", false, false),
    /** GPT-2: the byte-level expression alone. */
    GPT2("", false, false);

    private static final Map<String, PreTokenizer> BY_NAME = Map.ofEntries(
            Map.entry("qwen2", QWEN2),
            Map.entry("deepseek-r1-qwen", QWEN2),
            Map.entry("llama-bpe", LLAMA3),
            Map.entry("llama3", LLAMA3),
            Map.entry("llama-v3", LLAMA3),
            Map.entry("smollm", SMOLLM),
            Map.entry("starcoder", SMOLLM),
            Map.entry("refact", SMOLLM),
            Map.entry("command-r", SMOLLM),
            Map.entry("gpt-2", GPT2),
            Map.entry("gpt2", GPT2));

    private final String expression;
    private final boolean composes;
    private final boolean wholeWords;

    PreTokenizer(String expression, boolean composes, boolean wholeWords) {
        this.expression = expression;
        this.composes = composes;
        this.wholeWords = wholeWords;
    }

    static PreTokenizer named(String name, String checkpoint) {
        PreTokenizer found = BY_NAME.get(name);
        if (found == null) {
            throw new TokenizerException("%s: the pre-tokenizer '%s' is not supported (known: %s)"
                    .formatted(checkpoint, name, List.copyOf(new java.util.TreeSet<>(BY_NAME.keySet()))));
        }
        return found;
    }

    /** Whether a word that is a vocabulary entry skips the merges ({@code ignore_merges}). */
    boolean wholeWords() {
        return wholeWords;
    }

    /** Writes {@code normalizer} and {@code pre_tokenizer} of a {@code tokenizer.json} document. */
    void describe(ObjectNode document) {
        JsonNodeFactory nodes = JsonNodeFactory.instance;
        if (composes) {
            document.putObject("normalizer").put("type", "NFC");
        } else {
            document.putNull("normalizer");
        }
        boolean own = !expression.isEmpty();
        ArrayNode steps = nodes.arrayNode();
        if (own) {
            ObjectNode split = steps.addObject().put("type", "Split");
            split.putObject("pattern").put("Regex", expression);
            split.put("behavior", "Isolated").put("invert", false);
        } else if (this == SMOLLM) {
            steps.addObject().put("type", "Digits").put("individual_digits", true);
        }
        steps.addObject()
                .put("type", "ByteLevel")
                .put("add_prefix_space", false)
                .put("trim_offsets", true)
                .put("use_regex", !own);
        document.putObject("pre_tokenizer").put("type", "Sequence").set("pretokenizers", steps);
    }
}
