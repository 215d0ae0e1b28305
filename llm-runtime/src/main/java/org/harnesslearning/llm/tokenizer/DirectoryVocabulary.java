package org.harnesslearning.llm.tokenizer;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Reads the tokenizer files of a Hugging Face checkpoint directory. */
final class DirectoryVocabulary {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final Path directory;

    DirectoryVocabulary(Path directory) {
        this.directory = directory;
    }

    Tokenizer.Vocabulary read() {
        ObjectNode document = object("tokenizer.json", true);
        JsonNode model = document.path("model");
        if (!"BPE".equals(model.path("type").asString("BPE")) || !isByteLevel(document.path("decoder"))) {
            throw new TokenizerException(directory + ": tokenizer.json is not a byte-level BPE tokenizer");
        }
        if (!(model.path("vocab") instanceof ObjectNode vocabulary)) {
            throw new TokenizerException(directory + ": tokenizer.json has no vocabulary");
        }
        int size = 0;
        for (Map.Entry<String, JsonNode> entry : vocabulary.properties()) {
            size = Math.max(size, entry.getValue().asInt() + 1);
        }
        for (JsonNode token : document.path("added_tokens")) {
            size = Math.max(size, token.path("id").asInt() + 1);
        }
        byte[][] bytes = new byte[size][];
        java.util.Arrays.fill(bytes, new byte[0]);
        for (Map.Entry<String, JsonNode> entry : vocabulary.properties()) {
            bytes[entry.getValue().asInt()] = ByteAlphabet.bytesOrText(entry.getKey());
        }
        boolean[] special = new boolean[size];
        Map<String, Integer> ids = new HashMap<>();
        Map<String, Integer> control = new HashMap<>();
        ObjectNode ordinary = document.deepCopy();
        ArrayNode keptAdded = ordinary.putArray("added_tokens");
        ObjectNode ordinaryVocabulary = (ObjectNode) ordinary.path("model").path("vocab");
        for (JsonNode token : document.path("added_tokens")) {
            int id = token.path("id").asInt();
            String text = token.path("content").asString();
            bytes[id] = text.getBytes(StandardCharsets.UTF_8);
            ids.put(text, id);
            if (token.path("special").asBoolean(false)) {
                special[id] = true;
                control.put(text, id);
                ordinaryVocabulary.remove(text);
            } else {
                keptAdded.add(token);
                // An added token beyond the model's vocabulary would be renumbered once its predecessors are gone.
                ordinaryVocabulary.put(text, id);
            }
        }
        // The post-processor only adds special tokens, which are never asked for, and names some that are gone here.
        ordinary.putNull("post_processor");
        document.putNull("post_processor");

        ObjectNode config = object("tokenizer_config.json", false);
        OptionalInt bos = token(config.path("bos_token"), ids);
        OptionalInt eos = token(config.path("eos_token"), ids);
        Set<Integer> declared = new HashSet<>();
        JsonNode generation = object("generation_config.json", false).path("eos_token_id");
        if (generation.isArray()) {
            generation.forEach(id -> declared.add(id.asInt()));
        } else if (generation.isNumber()) {
            declared.add(generation.asInt());
        }
        eos.ifPresent(declared::add);
        Set<Integer> ends = Tokenizer.endOfGeneration(control, declared.toArray(Integer[]::new));
        return new Tokenizer.Vocabulary(
                directory.toString(),
                document,
                ordinary,
                bytes,
                special,
                ids,
                control,
                bos,
                eos,
                token(config.path("pad_token"), ids),
                config.path("add_bos_token").asBoolean(false),
                ends);
    }

    private static boolean isByteLevel(JsonNode decoder) {
        if ("ByteLevel".equals(decoder.path("type").asString(""))) {
            return true;
        }
        for (JsonNode step : decoder.path("decoders")) {
            if (isByteLevel(step)) {
                return true;
            }
        }
        return false;
    }

    private static OptionalInt token(JsonNode node, Map<String, Integer> ids) {
        @Nullable Integer id = ids.get(node.isObject() ? node.path("content").asString("") : node.asString(""));
        return id == null ? OptionalInt.empty() : OptionalInt.of(id);
    }

    private ObjectNode object(String file, boolean required) {
        Path path = directory.resolve(file);
        if (!required && !Files.isRegularFile(path)) {
            return JSON.createObjectNode();
        }
        if (!Files.isRegularFile(path)) {
            throw new TokenizerException(path + ": the file is missing");
        }
        try {
            if (JSON.readTree(path) instanceof ObjectNode node) {
                return node;
            }
        } catch (JacksonException e) {
            throw new TokenizerException("%s: not readable as JSON: %s".formatted(path, e.getOriginalMessage()), e);
        }
        throw new TokenizerException(path + ": not a JSON object");
    }
}
