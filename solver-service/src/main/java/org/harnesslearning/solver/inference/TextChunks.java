package org.harnesslearning.solver.inference;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Text completions in events: objects {@code text_completion}. */
record TextChunks(Decoding decoding) implements EventStream.Form<TextCompletion> {
    @Override
    public String object() {
        return "text_completion";
    }

    @Override
    public List<Map<String, @Nullable Object>> opening() {
        return List.of();
    }

    @Override
    public Map<String, @Nullable Object> piece(Delta delta) {
        Map<String, @Nullable Object> choice = choice(delta.choice(), delta.text(), null);
        if (decoding.logprobs()) {
            choice.put("logprobs", TextCompletion.Logprobs.of(delta.tokens()));
        }
        if (decoding.returnTokenIds()) {
            choice.put("token_ids", delta.tokens().stream().map(Delta.Token::id).toList());
        }
        return choice;
    }

    @Override
    public List<Map<String, @Nullable Object>> closing(TextCompletion answer) {
        List<Map<String, @Nullable Object>> closing = new ArrayList<>();
        for (TextCompletion.Choice choice : answer.choices()) {
            closing.add(choice(choice.index(), "", choice.finishReason()));
        }
        return closing;
    }

    @Override
    public Map<String, Object> extensions(TextCompletion answer) {
        return ChatChunks.extensions(answer.promptTokenIds(), answer.weightsVersion(), null);
    }

    @Override
    public Map<String, Object> usage(TextCompletion answer) {
        return ChatChunks.usage(answer.usage(), answer.timings());
    }

    private static Map<String, @Nullable Object> choice(int index, String text, @Nullable String finishReason) {
        Map<String, @Nullable Object> choice = new LinkedHashMap<>();
        choice.put("index", index);
        choice.put("text", text);
        choice.put("logprobs", null);
        choice.put("finish_reason", finishReason);
        return choice;
    }
}
