package org.harnesslearning.llm.tokenizer;

import java.lang.reflect.Array;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Builds a {@code tokenizer.json} document from the metadata keys {@code tokenizer.ggml.*} of a GGUF file (the names are
 * those of the GGUF specification in ggml's {@code docs/gguf.md}).
 */
final class GgufVocabulary {
    private static final int UNKNOWN = 2;
    private static final int CONTROL = 3;
    private static final int USER_DEFINED = 4;
    private static final int UNUSED = 5;

    private final Map<String, ?> metadata;
    private final String name;

    GgufVocabulary(Map<String, ?> metadata, String name) {
        this.metadata = metadata;
        this.name = name;
    }

    Tokenizer.Vocabulary read() {
        String model = string("tokenizer.ggml.model");
        if (!"gpt2".equals(model)) {
            throw new TokenizerException("%s: tokenizer.ggml.model is '%s'; only byte-level BPE ('gpt2') is supported"
                    .formatted(name, model));
        }
        String pre = metadata.get("tokenizer.ggml.pre") instanceof String s ? s : "gpt-2";
        PreTokenizer preTokenizer = PreTokenizer.named(pre, name);
        List<?> tokens = list("tokenizer.ggml.tokens");
        List<?> merges = list("tokenizer.ggml.merges");
        List<?> types =
                metadata.containsKey("tokenizer.ggml.token_type") ? list("tokenizer.ggml.token_type") : List.of();
        if (!types.isEmpty() && types.size() != tokens.size()) {
            throw new TokenizerException(
                    "%s: %d tokens but %d token types".formatted(name, tokens.size(), types.size()));
        }

        ObjectNode everything = JsonNodeFactory.instance.objectNode();
        ObjectNode ordinary = JsonNodeFactory.instance.objectNode();
        ArrayNode added = JsonNodeFactory.instance.arrayNode();
        ArrayNode addedUserDefined = JsonNodeFactory.instance.arrayNode();
        Map<String, Integer> ids = new HashMap<>();
        Map<String, Integer> control = new HashMap<>();
        byte[][] bytes = new byte[tokens.size()][];
        boolean[] special = new boolean[tokens.size()];
        for (int id = 0; id < tokens.size(); id++) {
            if (!(tokens.get(id) instanceof String token)) {
                throw new TokenizerException("%s: token %d is not a string".formatted(name, id));
            }
            int type = types.isEmpty() ? 1 : ((Number) types.get(id)).intValue();
            if (type == UNUSED) {
                bytes[id] = new byte[0];
                continue;
            }
            everything.put(token, id);
            if (type == CONTROL || type == UNKNOWN) {
                bytes[id] = token.getBytes(java.nio.charset.StandardCharsets.UTF_8);
                special[id] = true;
                control.put(token, id);
                ids.put(token, id);
                added.add(added(id, token, true));
            } else {
                ordinary.put(token, id);
                if (type == USER_DEFINED) {
                    bytes[id] = token.getBytes(java.nio.charset.StandardCharsets.UTF_8);
                    ids.put(token, id);
                    added.add(added(id, token, false));
                    addedUserDefined.add(added(id, token, false));
                } else {
                    bytes[id] = ByteAlphabet.bytesOrText(token);
                }
            }
        }
        OptionalInt eos = id("tokenizer.ggml.eos_token_id", tokens.size());
        OptionalInt eot = id("tokenizer.ggml.eot_token_id", tokens.size());
        Set<Integer> ends = Tokenizer.endOfGeneration(control, boxed(eos), boxed(eot));
        return new Tokenizer.Vocabulary(
                name,
                document(preTokenizer, everything, merges, added),
                document(preTokenizer, ordinary, merges, addedUserDefined),
                bytes,
                special,
                ids,
                control,
                id("tokenizer.ggml.bos_token_id", tokens.size()),
                eos,
                id("tokenizer.ggml.padding_token_id", tokens.size()),
                Boolean.TRUE.equals(metadata.get("tokenizer.ggml.add_bos_token")),
                ends);
    }

    private static @Nullable Integer boxed(OptionalInt id) {
        return id.isPresent() ? id.getAsInt() : null;
    }

    private static ObjectNode added(int id, String token, boolean special) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("id", id)
                .put("content", token)
                .put("single_word", false)
                .put("lstrip", false)
                .put("rstrip", false)
                .put("normalized", false)
                .put("special", special);
    }

    private static ObjectNode document(PreTokenizer pre, ObjectNode vocabulary, List<?> merges, ArrayNode added) {
        ObjectNode document = JsonNodeFactory.instance.objectNode();
        document.put("version", "1.0").putNull("truncation").putNull("padding");
        document.set("added_tokens", added);
        pre.describe(document);
        document.putNull("post_processor");
        document.putObject("decoder")
                .put("type", "ByteLevel")
                .put("add_prefix_space", true)
                .put("trim_offsets", true)
                .put("use_regex", true);
        ObjectNode model = document.putObject("model").put("type", "BPE");
        model.putNull("dropout").putNull("unk_token").putNull("continuing_subword_prefix");
        model.putNull("end_of_word_suffix").put("fuse_unk", false).put("byte_fallback", false);
        model.put("ignore_merges", pre.wholeWords());
        model.set("vocab", vocabulary);
        ArrayNode rules = model.putArray("merges");
        merges.forEach(rule -> rules.add(rule.toString()));
        return document;
    }

    private String string(String key) {
        if (metadata.get(key) instanceof String value) {
            return value;
        }
        throw new TokenizerException("%s: the metadata has no text '%s'".formatted(name, key));
    }

    private OptionalInt id(String key, int size) {
        if (!(metadata.get(key) instanceof Number number)) {
            return OptionalInt.empty();
        }
        long id = number.longValue();
        if (id < 0 || id >= size) {
            throw new TokenizerException("%s: %s is %d, outside the vocabulary of %d".formatted(name, key, id, size));
        }
        return OptionalInt.of((int) id);
    }

    private List<?> list(String key) {
        Object value = metadata.get(key);
        if (value instanceof List<?> list) {
            return list;
        }
        if (value != null && value.getClass().isArray()) {
            Object[] copy = new Object[Array.getLength(value)];
            for (int i = 0; i < copy.length; i++) {
                copy[i] = Array.get(value, i);
            }
            return List.of(copy);
        }
        throw new TokenizerException("%s: the metadata has no list '%s'".formatted(name, key));
    }
}
