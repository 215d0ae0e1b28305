package org.harnesslearning.llm.chat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.llm.checkpoint.Gguf;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Assumptions;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Golden files written by {@code src/test/golden/make_tokenizer_goldens.py}, and the checkpoints they belong to. */
public final class Goldens {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private Goldens() {}

    /** The golden file of a model. */
    public static JsonNode read(String model) {
        try (InputStream in = Goldens.class.getResourceAsStream("/golden/tokenizer-" + model + ".json")) {
            return JSON.readTree(in);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** The encoder of a fetched model; the calling test is skipped where it is not in the cache. */
    public static ChatEncoder encoder(String model) {
        Path file = SharedData.model(model);
        Assumptions.assumeTrue(Files.isRegularFile(file), model + " is not in the cache");
        try (Gguf gguf = Gguf.open(file)) {
            return ChatEncoder.fromGguf(gguf.metadata(), model);
        }
    }

    static List<ChatMessage> messages(JsonNode chat) {
        List<ChatMessage> messages = new ArrayList<>();
        for (JsonNode message : chat.get("messages")) {
            List<Map<String, Object>> calls = new ArrayList<>();
            message.path("tool_calls").forEach(call -> calls.add(map(call)));
            messages.add(new ChatMessage(
                    message.get("role").asString(), message.get("content").asString(), calls, null));
        }
        return messages;
    }

    static List<Map<String, Object>> tools(JsonNode chat) {
        List<Map<String, Object>> tools = new ArrayList<>();
        if (chat.get("tools").isArray()) {
            chat.get("tools").forEach(tool -> tools.add(map(tool)));
        }
        return tools;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(JsonNode node) {
        return JSON.convertValue(node, LinkedHashMap.class);
    }

    /** An array of ids. */
    public static int[] ids(JsonNode node) {
        return node.valueStream().mapToInt(JsonNode::asInt).toArray();
    }
}
