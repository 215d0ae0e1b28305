package org.harnesslearning.llm.tokenizer;

import static org.assertj.core.api.Assertions.assertThat;

import java.text.Normalizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.harnesslearning.llm.chat.Goldens;
import org.harnesslearning.testing.RequiresModel;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Token ids of 200 hard strings against Hugging Face's own tokenizer classes on the same vocabulary. */
class TokenizerGoldenTest {
    @Test
    @RequiresModel
    void smollm2_gives_the_ids_of_the_reference() {
        agreesWithTheReference("smollm2-135m", false);
    }

    @Test
    @Tag("model")
    void qwen25_coder_gives_the_ids_of_the_reference() {
        agreesWithTheReference("qwen2.5-coder-0.5b", true);
    }

    private static void agreesWithTheReference(String model, boolean composes) {
        JsonNode golden = Goldens.read(model);
        try (Tokenizer tokenizer = Goldens.encoder(model).tokenizer()) {
            List<String> differences = new ArrayList<>();
            for (JsonNode entry : golden.get("cases")) {
                String text = entry.get("text").asString();
                int[] expected = Goldens.ids(entry.get("ids"));
                int[] actual = tokenizer.encode(text, true);
                if (!Arrays.equals(expected, actual)) {
                    differences.add(text + ": " + Arrays.toString(actual) + ", not " + Arrays.toString(expected));
                }
                // Qwen's tokenizer composes characters first (NFC), so that is what comes back.
                String back = composes ? Normalizer.normalize(text, Normalizer.Form.NFC) : text;
                assertThat(tokenizer.decode(actual, false)).isEqualTo(back);
                int[] plain = tokenizer.encode(text, false);
                assertThat(tokenizer.decode(plain, true)).as("plain %s", text).isEqualTo(back);
                assertThat(java.util.Arrays.stream(plain)).noneMatch(tokenizer::isSpecial);
                assertThat(incrementally(tokenizer, actual, false)).isEqualTo(back);
            }
            assertThat(golden.get("cases").size()).isEqualTo(200);
            assertThat(differences).isEmpty();
            for (JsonNode entry : golden.get("decoded")) {
                int[] ids = Goldens.ids(entry.get("ids"));
                assertThat(tokenizer.decode(ids, false))
                        .isEqualTo(entry.get("text").asString());
                assertThat(incrementally(tokenizer, ids, false))
                        .isEqualTo(entry.get("text").asString());
            }
        }
    }

    private static String incrementally(Tokenizer tokenizer, int[] ids, boolean skipSpecial) {
        IncrementalDecoder decoder = tokenizer.incrementalDecoder(skipSpecial);
        StringBuilder text = new StringBuilder();
        for (int id : ids) {
            String piece = decoder.accept(id);
            // Never half a character: a piece is well-formed by itself.
            assertThat(piece.codePoints().noneMatch(c -> c >= 0xD800 && c <= 0xDFFF))
                    .isTrue();
            text.append(piece);
        }
        return text.append(decoder.finish()).toString();
    }
}
