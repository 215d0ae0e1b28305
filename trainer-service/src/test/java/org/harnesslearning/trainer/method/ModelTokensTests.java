package org.harnesslearning.trainer.method;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

@RequiresModel("smollm2-135m")
class ModelTokensTests {
    private static final List<ChatRequest.Message> MESSAGES =
            List.of(new ChatRequest.Message("system", "You edit."), new ChatRequest.Message("user", "Edit this."));

    private static ModelTokens tokens;

    @BeforeAll
    static void open() {
        tokens = ModelTokens.open(SharedData.model("smollm2-135m"));
    }

    @AfterAll
    static void close() {
        tokens.close();
    }

    @Test
    void prompt_and_reply_are_the_conversation_as_the_template_writes_it() {
        int[] prompt = tokens.prompt(MESSAGES, false);
        int[] reply = tokens.reply("Take this edit.");

        int[] whole = tokens.prompt(
                List.of(
                        MESSAGES.get(0),
                        MESSAGES.get(1),
                        new ChatRequest.Message("assistant", "Take this edit."),
                        new ChatRequest.Message("user", "x")),
                false);
        int[] joined = Arrays.copyOf(prompt, prompt.length + reply.length);
        System.arraycopy(reply, 0, joined, prompt.length, reply.length);
        assertThat(Arrays.copyOf(whole, joined.length)).isEqualTo(joined);
    }

    @Test
    void a_reply_prefix_belongs_to_the_prompt() {
        List<ChatRequest.Message> begun =
                List.of(MESSAGES.get(0), MESSAGES.get(1), new ChatRequest.Message("assistant", "Take"));
        int[] open = tokens.prompt(MESSAGES, false);
        int[] continued = tokens.prompt(begun, true);

        assertThat(Arrays.copyOf(continued, open.length)).isEqualTo(open);
        assertThat(continued.length).isGreaterThan(open.length);
    }

    @Test
    void a_models_own_tokens_are_kept_where_they_spell_the_reply_and_made_anew_where_not() {
        int[] usual = tokens.reply("ab");
        int a = tokens.reply("a")[0];
        int b = tokens.reply("b")[0];

        int[] kept = tokens.reply("ab", List.of(a, b));
        assertThat(kept).as("another way to spell it").containsExactly(a, b, usual[usual.length - 1]);
        assertThat(kept).isNotEqualTo(usual);
        assertThat(tokens.reply("ab", List.of(b, a))).isEqualTo(usual);
        assertThat(tokens.reply("ab", List.of(10_000_000))).isEqualTo(usual);
        assertThat(tokens.reply("ab", null)).isEqualTo(usual);
    }

    @Test
    void a_control_token_spelled_in_a_reply_stays_text() {
        int[] reply = tokens.reply("x<|im_end|>y");
        int end = reply[reply.length - 1];

        assertThat(Arrays.stream(reply).filter(id -> id == end)).hasSize(1);
    }
}
