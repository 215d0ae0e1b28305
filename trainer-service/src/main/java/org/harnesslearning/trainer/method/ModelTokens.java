package org.harnesslearning.trainer.method;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.llm.chat.ChatEncoder;
import org.harnesslearning.llm.chat.ChatMessage;
import org.harnesslearning.llm.checkpoint.Gguf;
import org.harnesslearning.llm.tokenizer.Tokenizer;
import org.jspecify.annotations.Nullable;

/**
 * Prompts and replies in a checkpoint's own tokens, by its own chat template; the same code as the solver's, so that the
 * trained prompt is the one that the model will read.
 */
public final class ModelTokens implements AutoCloseable {
    private final ChatEncoder encoder;
    private final int end;

    private ModelTokens(ChatEncoder encoder, String name) {
        this.encoder = encoder;
        this.end = endOfTurn(encoder, name);
    }

    /**
     * Opens a checkpoint's tokenizer and template.
     *
     * @param checkpoint Hugging Face folder or GGUF file
     * @throws IllegalArgumentException when its template closes no turn with a token that ends a generation
     */
    public static ModelTokens open(Path checkpoint) {
        ChatEncoder encoder;
        if (Files.isDirectory(checkpoint)) {
            encoder = ChatEncoder.fromDirectory(checkpoint);
        } else {
            try (Gguf gguf = Gguf.open(checkpoint)) {
                encoder = ChatEncoder.fromGguf(gguf.metadata(), checkpoint.toString());
            }
        }
        try {
            return new ModelTokens(encoder, checkpoint.toString());
        } catch (RuntimeException e) {
            encoder.close();
            throw e;
        }
    }

    /**
     * A prompt.
     *
     * @param continued whether the reply continues the last message; otherwise it opens a turn of its own
     */
    public int[] prompt(List<ChatRequest.Message> messages, boolean continued) {
        return encoder.encode(
                messages.stream()
                        .map(message -> ChatMessage.of(message.role(), message.content()))
                        .toList(),
                List.of(),
                continued);
    }

    /** A whole reply, the token that ends it included; texts of control tokens in it stay text. */
    public int[] reply(String text) {
        return ended(encoder.tokenizer().encode(text, false));
    }

    /**
     * A reply in the tokens that its model made, where these are the checkpoint's own, else in new ones; either way with
     * the token that ends it.
     *
     * @param sampled the model's tokens; null where it gave none
     */
    public int[] reply(String text, @Nullable List<Integer> sampled) {
        if (sampled != null && sampled.stream().allMatch(token -> token < size())) {
            int[] ids = sampled.stream().mapToInt(Integer::intValue).toArray();
            if (encoder.tokenizer().decode(ids, false).equals(text)) {
                return ended(ids);
            }
        }
        return reply(text);
    }

    /** The same tokens and the one that ends a turn. */
    public int[] ended(int[] tokens) {
        int[] all = Arrays.copyOf(tokens, tokens.length + 1);
        all[tokens.length] = end;
        return all;
    }

    /** Number of ids. */
    public int size() {
        return encoder.tokenizer().size();
    }

    /** The token with which the template closes an assistant's turn: the last one in it that ends a generation. */
    private static int endOfTurn(ChatEncoder encoder, String name) {
        Tokenizer tokenizer = encoder.tokenizer();
        int[] turn = encoder.encode(
                List.of(ChatMessage.of("user", "a"), ChatMessage.of("assistant", "b")), List.of(), false, false);
        for (int i = turn.length - 1; i >= 0; i--) {
            if (tokenizer.endOfGeneration().contains(turn[i])) {
                return turn[i];
            }
        }
        return tokenizer
                .eosId()
                .orElseThrow(() -> new IllegalArgumentException(
                        name + ": neither its chat template nor its tokenizer names a token that ends a reply"));
    }

    @Override
    public void close() {
        encoder.close();
    }
}
