package org.harnesslearning.llm.tokenizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The tokenizer on a small vocabulary of all bytes, a few merges, control tokens and a user-defined one. */
class TokenizerTest {
    private final Map<String, Object> metadata = metadata("llama-bpe");
    private Tokenizer tokenizer = Tokenizer.fromGguf(metadata, "tiny");

    static Map<String, Object> metadata(String pre) {
        List<String> tokens = new ArrayList<>();
        int next = 256;
        for (int b = 0; b < 256; b++) {
            boolean printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
            tokens.add(String.valueOf((char) (printable ? b : next++)));
        }
        tokens.addAll(List.of("he", "ll", "hell", "hello", "<|im_start|>", "<|im_end|>", "<tool>", "[PAD]"));
        List<Long> types = new ArrayList<>();
        tokens.forEach(token -> types.add(1L));
        types.set(260, 3L);
        types.set(261, 3L);
        types.set(262, 4L);
        types.set(263, 5L);
        Map<String, Object> metadata = new HashMap<>();
        metadata.put("tokenizer.ggml.model", "gpt2");
        metadata.put("tokenizer.ggml.pre", pre);
        metadata.put("tokenizer.ggml.tokens", tokens);
        metadata.put("tokenizer.ggml.token_type", types);
        metadata.put("tokenizer.ggml.merges", List.of("h e", "l l", "he ll", "hell o"));
        metadata.put("tokenizer.ggml.bos_token_id", 260L);
        metadata.put("tokenizer.ggml.eos_token_id", 261L);
        return metadata;
    }

    @AfterEach
    void close() {
        tokenizer.close();
    }

    @Test
    void merges_apply_in_order_and_spaces_stay() {
        assertThat(tokenizer.encode("hello hell", false)).containsExactly(259, 32, 258);
        assertThat(tokenizer.decode(tokenizer.encode("hello hell", false), true))
                .isEqualTo("hello hell");
    }

    @Test
    void control_tokens_count_only_where_they_are_allowed_to() {
        assertThat(tokenizer.encode("a<|im_end|>", true)).endsWith(261).hasSize(2);
        assertThat(tokenizer.encode("a<|im_end|>", false)).doesNotContain(261).hasSize(11);
        assertThat(tokenizer.decode(tokenizer.encode("a<|im_end|>", true), true))
                .isEqualTo("a");
        assertThat(tokenizer.decode(tokenizer.encode("a<|im_end|>", true), false))
                .isEqualTo("a<|im_end|>");
    }

    @Test
    void user_defined_tokens_are_always_taken_whole_and_shown() {
        assertThat(tokenizer.encode("<tool>", false)).containsExactly(262);
        assertThat(tokenizer.encode("<tool>", true)).containsExactly(262);
        assertThat(tokenizer.decode(new int[] {262}, true)).isEqualTo("<tool>");
    }

    @Test
    void guarded_control_tokens_stay_text_and_the_others_count() {
        String content = tokenizer.guard("x<|im_end|><|im_start|>y", '\uE000');
        int[] ids = tokenizer.encodeGuarded("<|im_start|>" + content + "<|im_end|>", '\uE000');
        assertThat(ids).startsWith(260).endsWith(261);
        assertThat(java.util.Arrays.stream(ids, 1, ids.length - 1)).noneMatch(tokenizer::isSpecial);
        assertThat(tokenizer.decode(ids, true)).isEqualTo("x<|im_end|><|im_start|>y");
    }

    @Test
    void bytes_of_one_character_are_held_back_until_it_is_whole() {
        IncrementalDecoder decoder = tokenizer.incrementalDecoder(true);
        List<String> pieces = new ArrayList<>();
        for (int id : tokenizer.encode("é😀", false)) {
            pieces.add(decoder.accept(id));
        }
        assertThat(pieces).containsExactly("", "é", "", "", "", "😀");
        assertThat(decoder.finish()).isEmpty();
        decoder.accept(tokenizer.encode("é", false)[0]);
        assertThat(decoder.finish()).isEqualTo("\uFFFD");
    }

    @Test
    void a_lone_surrogate_becomes_the_replacement_character() {
        assertThat(tokenizer.decode(tokenizer.encode("a\uD83Db", false), true)).isEqualTo("a\uFFFDb");
    }

    @Test
    void ids_outside_the_vocabulary_decode_to_nothing() {
        assertThat(tokenizer.decode(new int[] {263, 9999, -1}, false)).isEmpty();
        assertThat(tokenizer.size()).isEqualTo(264);
    }

    @Test
    void declared_tokens_are_known() {
        assertThat(tokenizer.eosId()).hasValue(261);
        assertThat(tokenizer.bosText()).isEqualTo("<|im_start|>");
        assertThat(tokenizer.endOfGeneration()).containsExactly(261);
        assertThat(tokenizer.addsBos()).isFalse();
    }

    @Test
    void other_tokenizers_are_refused_with_the_reason() {
        metadata.put("tokenizer.ggml.pre", "tekken");
        assertThatThrownBy(() -> Tokenizer.fromGguf(metadata, "tiny"))
                .isInstanceOf(TokenizerException.class)
                .hasMessageContaining("tiny")
                .hasMessageContaining("tekken");
        metadata.put("tokenizer.ggml.model", "llama");
        assertThatThrownBy(() -> Tokenizer.fromGguf(metadata, "tiny")).hasMessageContaining("byte-level BPE");
        metadata.remove("tokenizer.ggml.model");
        assertThatThrownBy(() -> Tokenizer.fromGguf(metadata, "tiny")).hasMessageContaining("tokenizer.ggml.model");
    }

    @Test
    void digits_are_cut_as_each_family_does() {
        try (Tokenizer qwen = Tokenizer.fromGguf(metadata("qwen2"), "qwen");
                Tokenizer smol = Tokenizer.fromGguf(metadata("smollm"), "smol")) {
            assertThat(qwen.encode("hello", false)).containsExactly(259);
            assertThat(smol.encode("hello7hello", false)).containsExactly(259, 55, 259);
        }
    }

    @Test
    void a_hugging_face_directory_gives_the_same_tokenizer(@TempDir Path directory) throws IOException {
        Files.writeString(
                directory.resolve("tokenizer.json"),
                new GgufVocabulary(metadata, "tiny").read().document().toString());
        Files.writeString(
                directory.resolve("tokenizer_config.json"),
                "{\"eos_token\": {\"content\": \"<|im_end|>\"}, \"bos_token\": \"<|im_start|>\"}");
        Files.writeString(directory.resolve("generation_config.json"), "{\"eos_token_id\": [261, 260]}");
        try (Tokenizer other = Tokenizer.fromDirectory(directory)) {
            for (String text : List.of("hello é😀 <|im_end|>", "<tool>hell<|im_start|>", "12345 x\n\n")) {
                assertThat(other.encode(text, true)).containsExactly(tokenizer.encode(text, true));
                assertThat(other.encode(text, false)).containsExactly(tokenizer.encode(text, false));
                assertThat(other.decode(other.encode(text, false), true)).isEqualTo(text);
            }
            assertThat(other.eosId()).hasValue(261);
            assertThat(other.endOfGeneration()).containsExactlyInAnyOrder(260, 261);
        }
        assertThatThrownBy(() -> Tokenizer.fromDirectory(directory.resolve("absent")))
                .isInstanceOf(TokenizerException.class)
                .hasMessageContaining("missing");
        Files.writeString(directory.resolve("tokenizer.json"), "{\"model\": {\"type\": \"Unigram\"}}");
        assertThatThrownBy(() -> Tokenizer.fromDirectory(directory)).hasMessageContaining("byte-level BPE");
        Files.writeString(directory.resolve("tokenizer.json"), "{broken");
        assertThatThrownBy(() -> Tokenizer.fromDirectory(directory)).hasMessageContaining("JSON");
    }
}
