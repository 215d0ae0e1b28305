package org.harnesslearning.solver.inference;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.model.ChatResponse;
import org.jspecify.annotations.Nullable;

/** Chat completions in events: objects {@code chat.completion.chunk}. */
record ChatChunks(Decoding decoding) implements EventStream.Form<ChatResponse> {
    @Override
    public String object() {
        return "chat.completion.chunk";
    }

    @Override
    public List<Map<String, @Nullable Object>> opening() {
        List<Map<String, @Nullable Object>> opening = new ArrayList<>();
        for (int i = 0; i < decoding.n(); i++) {
            Map<String, Object> delta = new LinkedHashMap<>();
            delta.put("role", "assistant");
            delta.put("content", "");
            opening.add(choice(i, delta, null));
        }
        return opening;
    }

    @Override
    public Map<String, @Nullable Object> piece(Delta delta) {
        Map<String, @Nullable Object> choice = choice(delta.choice(), Map.of("content", delta.text()), null);
        if (decoding.logprobs()) {
            choice.put(
                    "logprobs",
                    new ChatResponse.Logprobs(
                            delta.tokens().stream().map(Delta.Token::logprob).toList()));
        }
        if (decoding.returnTokenIds()) {
            choice.put("token_ids", delta.tokens().stream().map(Delta.Token::id).toList());
        }
        return choice;
    }

    @Override
    public List<Map<String, @Nullable Object>> closing(ChatResponse answer) {
        List<Map<String, @Nullable Object>> closing = new ArrayList<>();
        for (ChatResponse.Choice choice : answer.choices()) {
            List<ChatRequest.ToolCall> calls = choice.message().toolCalls();
            if (calls != null) {
                List<Map<String, Object>> numbered = new ArrayList<>();
                for (ChatRequest.ToolCall call : calls) {
                    Map<String, Object> entry = new LinkedHashMap<>();
                    entry.put("index", numbered.size());
                    entry.put("id", call.id());
                    entry.put("type", call.type());
                    entry.put("function", call.function());
                    numbered.add(entry);
                }
                closing.add(choice(choice.index(), Map.of("tool_calls", numbered), null));
            }
            closing.add(choice(choice.index(), Map.of(), choice.finishReason()));
        }
        return closing;
    }

    @Override
    public Map<String, Object> extensions(ChatResponse answer) {
        return extensions(answer.promptTokenIds(), answer.weightsVersion(), answer.recorded());
    }

    @Override
    public Map<String, Object> usage(ChatResponse answer) {
        return usage(answer.usage(), answer.timings());
    }

    static Map<String, Object> extensions(
            @Nullable List<Integer> promptTokenIds, @Nullable String weightsVersion, @Nullable Boolean recorded) {
        Map<String, Object> fields = new LinkedHashMap<>();
        if (promptTokenIds != null) {
            fields.put("prompt_token_ids", promptTokenIds);
        }
        if (weightsVersion != null) {
            fields.put("weights_version", weightsVersion);
        }
        if (recorded != null) {
            fields.put("recorded", recorded);
        }
        return fields;
    }

    static Map<String, Object> usage(ChatResponse.Usage usage, ChatResponse.@Nullable Timings timings) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("usage", usage);
        if (timings != null) {
            fields.put("timings", timings);
        }
        return fields;
    }

    private static Map<String, @Nullable Object> choice(
            int index, Map<String, Object> delta, @Nullable String finishReason) {
        Map<String, @Nullable Object> choice = new LinkedHashMap<>();
        choice.put("index", index);
        choice.put("delta", delta);
        choice.put("finish_reason", finishReason);
        return choice;
    }
}
