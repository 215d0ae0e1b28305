package org.harnesslearning.llm.chat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.harnesslearning.llm.tokenizer.Tokenizer;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Turns conversations into token ids with a checkpoint's own template and tokenizer.
 *
 * <p>For ordinary text the ids equal those of Hugging Face's {@code apply_chat_template}. They differ by intent where a
 * message holds the text of a control token, such as {@code <|im_end|>}: there it stays text, so that no message can end
 * its own turn or open another one.
 */
public final class ChatEncoder implements AutoCloseable {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final Tokenizer tokenizer;
    private final ChatTemplate template;

    /** An encoder of one checkpoint. */
    public ChatEncoder(Tokenizer tokenizer, ChatTemplate template) {
        this.tokenizer = tokenizer;
        this.template = template;
    }

    /**
     * The encoder of a GGUF file.
     *
     * @param metadata the file's key-value metadata
     * @param name what to call the checkpoint in messages
     * @throws ChatTemplateException when the file has no template or an unsupported one
     */
    public static ChatEncoder fromGguf(Map<String, ?> metadata, String name) {
        Tokenizer tokenizer = Tokenizer.fromGguf(metadata, name);
        return new ChatEncoder(
                tokenizer,
                template(metadata.get("tokenizer.chat_template") instanceof String s ? s : null, tokenizer, name));
    }

    /** The encoder of a Hugging Face directory ({@code chat_template.jinja}, else {@code tokenizer_config.json}). */
    public static ChatEncoder fromDirectory(Path directory) {
        Tokenizer tokenizer = Tokenizer.fromDirectory(directory);
        try {
            Path file = directory.resolve("chat_template.jinja");
            String source = null;
            if (Files.isRegularFile(file)) {
                source = Files.readString(file);
            } else if (Files.isRegularFile(directory.resolve("tokenizer_config.json"))) {
                JsonNode node = JSON.readTree(directory.resolve("tokenizer_config.json"))
                        .path("chat_template");
                source = node.isString() ? node.asString() : named(node);
            }
            return new ChatEncoder(tokenizer, template(source, tokenizer, directory.toString()));
        } catch (java.io.IOException e) {
            throw new ChatTemplateException(directory + ": the chat template cannot be read: " + e.getMessage());
        }
    }

    /** Some checkpoints list several templates by name; the one called {@code default} is for plain conversations. */
    private static @Nullable String named(JsonNode templates) {
        for (JsonNode entry : templates) {
            if ("default".equals(entry.path("name").asString(""))) {
                return entry.path("template").asString("");
            }
        }
        return null;
    }

    private static ChatTemplate template(@Nullable String source, Tokenizer tokenizer, String name) {
        if (source == null || source.isBlank()) {
            throw new ChatTemplateException(name + ": the checkpoint has no chat template");
        }
        return ChatTemplate.parse(source, tokenizer.bosText(), tokenizer.eosText());
    }

    /** The tokenizer. */
    public Tokenizer tokenizer() {
        return tokenizer;
    }

    /** The template. */
    public ChatTemplate template() {
        return template;
    }

    /**
     * The prompt of a conversation.
     *
     * @param continueFinalMessage whether the reply continues the last message; otherwise it opens an assistant turn
     * @throws ChatTemplateException when the template refuses the conversation
     */
    public int[] encode(List<ChatMessage> messages, List<Map<String, Object>> tools, boolean continueFinalMessage) {
        return encode(messages, tools, !continueFinalMessage, continueFinalMessage);
    }

    /**
     * The prompt of a conversation.
     *
     * @param addGenerationPrompt whether the opening of an assistant turn follows
     * @param continueFinalMessage whether the last message is left open instead
     * @throws ChatTemplateException when the template refuses the conversation
     */
    public int[] encode(
            List<ChatMessage> messages,
            List<Map<String, Object>> tools,
            boolean addGenerationPrompt,
            boolean continueFinalMessage) {
        char guard = template.unusedCharacter(messages, tools, 0);
        String rendered = template.render(
                messages, tools, addGenerationPrompt, continueFinalMessage, text -> tokenizer.guard(text, guard));
        return tokenizer.encodeGuarded(rendered, guard);
    }

    /** Closes the tokenizer. */
    @Override
    public void close() {
        tokenizer.close();
    }
}
