package org.harnesslearning.solver.local;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.harnesslearning.llm.TokenLogprob;
import org.harnesslearning.llm.checkpoint.Gguf;
import org.harnesslearning.llm.tokenizer.Tokenizer;
import org.harnesslearning.solver.inference.Decoding;
import org.harnesslearning.solver.inference.Delta;
import org.harnesslearning.solver.inference.ToolCalls;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Replies token by token, with a real tokenizer. */
@RequiresModel
class SampleTextTest {
    private static final String CALL =
            "<tool_call>\n{\"name\": \"time\", \"arguments\": {\"zone\": \"CET\"}}\n</tool_call>";

    private static Tokenizer tokenizer;

    private final List<Delta> deltas = new ArrayList<>();

    @BeforeAll
    static void open() {
        try (Gguf gguf = Gguf.open(SharedData.model("smollm2-135m"))) {
            tokenizer = Tokenizer.fromGguf(gguf.metadata(), "smollm2-135m");
        }
    }

    @AfterAll
    static void close() {
        tokenizer.close();
    }

    private static Decoding decoding(boolean logprobs, String... stops) {
        return new Decoding(
                null, 1, 1, 0, 0, 1, 0, 0, 1, null, List.of(), List.of(stops), Set.of(), false, logprobs, 1, false);
    }

    private SampleText sample(Decoding decoding, boolean callsTools) {
        return new SampleText(0, tokenizer, decoding, callsTools, deltas::add);
    }

    private ToolCalls.Reply feed(SampleText sample, String text) {
        for (int token : tokenizer.encode(text, true)) {
            if (!sample.accept(token, -0.5f, List.of(new TokenLogprob(token, -0.5f)))) {
                break;
            }
        }
        return sample.finish(number -> "call_" + number);
    }

    private String shown() {
        StringBuilder shown = new StringBuilder();
        deltas.forEach(delta -> shown.append(delta.text()));
        return shown.toString();
    }

    @Test
    void a_tool_call_is_not_shown_as_text() {
        ToolCalls.Reply reply = feed(sample(decoding(false), true), "Let me see. " + CALL);
        assertThat(reply.content()).isEqualTo("Let me see.");
        assertThat(reply.calls()).singleElement().satisfies(call -> {
            assertThat(call.id()).isEqualTo("call_0");
            assertThat(call.function().name()).isEqualTo("time");
            assertThat(call.function().arguments()).isEqualTo("{\"zone\":\"CET\"}");
        });
        assertThat(shown()).isEqualTo("Let me see. ");
    }

    @Test
    void what_only_looks_like_a_tool_call_is_shown_in_full() {
        for (String text : List.of("a <tool_box> b", "use <tool_call> so", CALL + " and more", "x <tool")) {
            deltas.clear();
            ToolCalls.Reply reply = feed(sample(decoding(false), true), text);
            assertThat(reply.content()).isEqualTo(text);
            assertThat(reply.calls()).isEmpty();
            assertThat(shown()).isEqualTo(text);
        }
    }

    @Test
    void without_tools_a_call_is_text() {
        assertThat(feed(sample(decoding(false), false), CALL).content()).isEqualTo(CALL);
        assertThat(shown()).isEqualTo(CALL);
    }

    @Test
    void each_token_is_told_once_with_its_place_also_where_its_text_is_held_back() {
        String text = "Zwölf 🦊 Boxkämpfer jagen Eva STOP quer";
        SampleText sample = sample(decoding(true, "STOP"), false);
        ToolCalls.Reply reply = feed(sample, text);
        assertThat(reply.content()).isEqualTo("Zwölf 🦊 Boxkämpfer jagen Eva ");
        assertThat(shown()).isEqualTo(reply.content());
        List<Delta.Token> told =
                deltas.stream().flatMap(delta -> delta.tokens().stream()).toList();
        assertThat(told).isEqualTo(sample.tokens());
        String all = tokenizer.decode(told.stream().mapToInt(Delta.Token::id).toArray(), false);
        assertThat(all).startsWith("Zwölf 🦊 Boxkämpfer jagen Eva STOP");
        for (int i = 0; i < told.size(); i++) {
            int[] before = told.subList(0, i).stream().mapToInt(Delta.Token::id).toArray();
            // Bytes of an unfinished character are no text yet.
            assertThat(told.get(i).offset())
                    .isLessThanOrEqualTo(tokenizer.decode(before, false).length());
            assertThat(told.get(i).offset())
                    .isGreaterThanOrEqualTo(i == 0 ? 0 : told.get(i - 1).offset());
        }
    }
}
