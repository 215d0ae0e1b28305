package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.harnesslearning.contracts.model.ChatRequest;
import org.junit.jupiter.api.Test;

class ToolCallsTest {
    private static ToolCalls.Reply in(String text) {
        return ToolCalls.in(text, number -> "call_" + number);
    }

    @Test
    void blocks_at_the_end_are_calls() {
        ToolCalls.Reply reply = in("""
                Let me look.
                <tool_call>
                {"name": "weather", "arguments": {"city": "Bern", "days": 2}}
                </tool_call>
                <tool_call>
                {"name": "time", "arguments": {}}
                </tool_call>""");
        assertThat(reply).isNotNull();
        assertThat(reply.content()).isEqualTo("Let me look.");
        assertThat(reply.calls())
                .containsExactly(
                        new ChatRequest.ToolCall(
                                "call_0",
                                "function",
                                new ChatRequest.Function("weather", "{\"city\":\"Bern\",\"days\":2}")),
                        new ChatRequest.ToolCall("call_1", "function", new ChatRequest.Function("time", "{}")));
    }

    @Test
    void the_last_closing_tag_may_be_the_end_of_the_turn() {
        ToolCalls.Reply reply = in("<tool_call>\n{\"name\": \"time\", \"arguments\": {\"zone\": \"CET\"}}\n");
        assertThat(reply).isNotNull();
        assertThat(reply.content()).isEmpty();
        assertThat(reply.calls()).hasSize(1);
    }

    @Test
    void anything_else_is_plain_text() {
        assertThat(in("no call")).isNull();
        assertThat(in("<tool_call>{\"name\": \"x\", \"arguments\": {")).isNull();
        assertThat(in("<tool_call>{\"name\": 3, \"arguments\": {}}</tool_call>"))
                .isNull();
        assertThat(in("<tool_call>{\"arguments\": {}}</tool_call>")).isNull();
        assertThat(in("<tool_call>{\"name\": \"x\", \"arguments\": {}}</tool_call> and more"))
                .isNull();
        assertThat(in("<tool_call></tool_call>")).isNull();
    }

    @Test
    void templates_see_the_arguments_of_earlier_calls_as_objects() {
        Map<String, Object> call = Map.of(
                "id", "1", "type", "function", "function", Map.of("name", "f", "arguments", "{\"a\": [1, true]}"));
        assertThat(ToolCalls.forTemplate(call).toString()).contains("arguments={a=[1, true]}");
        Map<String, Object> broken =
                Map.of("id", "1", "type", "function", "function", Map.of("name", "f", "arguments", "{\"a\":"));
        assertThat(ToolCalls.forTemplate(broken).toString()).contains("arguments={\"a\":");
    }
}
