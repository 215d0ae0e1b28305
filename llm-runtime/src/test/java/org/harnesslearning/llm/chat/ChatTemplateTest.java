package org.harnesslearning.llm.chat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ChatTemplateTest {
    private static final List<ChatMessage> HELLO = List.of(ChatMessage.of("user", "hello\nthere 😀"));

    private static String render(String template) {
        return ChatTemplate.parse(template, "<s>", "</s>").render(HELLO, List.of(), true, false);
    }

    /** Expected texts are what Jinja2 3.1 (trim_blocks, lstrip_blocks) prints for the same template. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '¦',
            ignoreLeadingAndTrailingWhitespace = false,
            value = {
                "{{ 1 + 2 * 3 ** 2 }}¦19",
                "{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 / 2 }} {{ -7 % 3 }}¦3 -4 3.5 2",
                "{{ 'a' ~ 1 ~ none ~ true }}¦a1NoneTrue",
                "{{ 'a' 'b' }}¦ab",
                "{{ [1, 2.5, 'x', none, {'k': 'it''s'}] }}¦[1, 2.5, 'x', None, {'k': 'its'}]",
                "{{ {'a': [1, 1e0 if false else 2.0], 'b': \"é<\\n\"} | tojson }}¦{\"a\": [1, 2.0], \"b\": \"é<\\n\"}",
                "{{ messages[0].content.split('\\n')[-1].upper() }}¦THERE 😀",
                "{{ messages[0].content[-1] }}{{ messages[0].content[:3] }}{{ messages[0].content | length }}¦😀hel13",
                "{{ messages[0].content.startswith('he') and not messages[0].content.endswith('x') }}¦True",
                "{{ messages[::-1][0].role }}¦user",
                "{% set ns = namespace(n=0) %}{% for i in range(4) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}¦6",
                "{% for i in range(9) if i is odd %}{{ i }}{{ ',' if not loop.last }}{% endfor %}¦1,3,5,7",
                "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ loop.index }}{{ k }}{{ v }}{% endfor %}¦1a12b2",
                "{% for x in [] %}x{% else %}none{% endfor %}¦none",
                "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% elif i > 4 %}{% break %}{% endif %}{{ i }}{% endfor %}¦0134",
                "{% macro m(a, b='y') %}{{ a }}{{ b }}{% endmacro %}{{ m('x') }}{{ m('x', b='z') }}¦xyxz",
                "{% set x %}a{{ 1 }}{% endset %}[{{ x }}]¦[a1]",
                "{{ x is defined }} {{ messages[0].nothing is not defined }} {{ messages[0].nothing }}¦False True ",
                "{{ 'x' in 'xyz' and 2 not in [1, 3] and 'role' in messages[0] }}¦True",
                "{{ messages | map(attribute='role') | join('+') }}¦user",
                "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}¦1",
                "{{ none | default('d') }} {{ none | default('d', true) }} {{ y | default('d') }}¦None d d",
                "{{ '  x ' | trim }}|{{ ' a'.lstrip() }}|{{ 'xxa'.lstrip('x') }}¦x|a|a",
                "{{ 'a-b-c'.replace('-', '+') }} {{ 'a b'.title() }} {{ 'abc'[1:] }} {{ 'abc'[::-1] }}¦a+b+c A B bc cba",
                "{{ bos_token }}{{ eos_token }}¦<s></s>",
                "{{ \"{{x}} {% y %}\" }}{# a comment #}!¦{{x}} {% y %}!",
                "{{ 1 < 2 <= 2 }} {{ 3 > 2 == false }}¦True False",
                "{{ (1, 2)[1] }} {{ 1 if false }} {{ 'a' * 3 }}¦2  aaa",
                "{{ 5 is divisibleby 5 }} {{ 'x' is string }} {{ messages[0] is mapping }}¦True True True",
                "{{ 0.1 + 0.2 }} {{ 1e3 if false else 100000000000000000.0 }} {{ 0.00001 }}¦0.30000000000000004 1e+17 1e-05"
            })
    void evaluates_as_jinja_does(String template, String expected) {
        assertThat(render(template)).isEqualTo(expected == null ? "" : expected);
    }

    @Test
    void white_space_follows_trim_blocks_and_lstrip_blocks() {
        assertThat(render("a\n  {% if true %}\n  b\n  {% endif %}\nc\n")).isEqualTo("a\n  b\nc");
        assertThat(render("a  {%- if true -%}  b  {%- endif %}\n\nc")).isEqualTo("ab\nc");
        assertThat(render("  {{ 1 }}\n  {{- 2 }}\n")).isEqualTo("  12");
        assertThat(render("  {%+ if true %}x{% endif +%}\ny")).isEqualTo("  x\ny");
        assertThat(render("{# c #}\nx\n\n")).isEqualTo("x\n");
    }

    @Test
    void qwen3_style_thinking_is_cut_from_earlier_turns() {
        String template = "{%- set ns = namespace(last=messages|length - 1) %}\n"
                + "{%- for message in messages[::-1] %}\n"
                + "    {%- set index = (messages|length - 1) - loop.index0 %}\n"
                + "    {%- if message.role == \"user\" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}\n"
                + "        {%- set ns.last = index %}\n"
                + "    {%- endif %}\n"
                + "{%- endfor %}\n"
                + "{%- for message in messages %}\n"
                + "    {%- set content = message.content %}\n"
                + "    {%- if '</think>' in content %}\n"
                + "        {%- set content = message.content.split('</think>')[-1].lstrip('\\n') %}\n"
                + "    {%- endif %}\n"
                + "    {{- message.role + ':' + content + '\\n' }}\n"
                + "{%- endfor %}";
        List<ChatMessage> messages = List.of(
                ChatMessage.of("user", "q"),
                ChatMessage.of("assistant", "<think>\nhm\n</think>\n\nanswer"),
                ChatMessage.of("user", "again"));
        assertThat(ChatTemplate.parse(template, "", "").render(messages, List.of(), true, false))
                .isEqualTo("user:q\nassistant:answer\nuser:again\n");
    }

    @Test
    void the_last_message_is_left_open_to_be_continued() {
        String template = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</{{ m.role }}>{% endfor %}";
        List<ChatMessage> messages =
                List.of(ChatMessage.of("user", "q"), ChatMessage.of("assistant", "The answer is "));
        ChatTemplate parsed = ChatTemplate.parse(template, "", "");
        assertThat(parsed.render(messages, List.of(), false, true))
                .isEqualTo("<user>q</user><assistant>The answer is ");
        assertThatThrownBy(() -> ChatTemplate.parse("{{ messages[0].content }}", "", "")
                        .render(messages, List.of(), false, true))
                .hasMessageContaining("cannot be continued");
    }

    @Test
    void a_template_may_refuse_a_conversation() {
        assertThatThrownBy(() -> render("{{ raise_exception('roles must alternate') }}"))
                .isInstanceOf(ChatTemplateException.class)
                .hasMessageContaining("roles must alternate");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '¦',
            value = {
                "{% if x %}¦endif",
                "{{ 'open }}¦not closed",
                "{% include 'x' %}¦include",
                "{{ 1 +  }}¦expression",
                "{{ x | nosuch }}¦nosuch",
                "{{ x is nosuch }}¦nosuch",
                "{{ x.y }}¦undefined",
                "{{ 'a' + 1 }}¦does not apply",
                "{{ 1 // 0 }}¦zero",
                "{% endfor %}¦open block",
                "{{ nosuch() }}¦cannot be called",
                "{{ range(1000000000) }}¦too long",
                "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}¦end",
                "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}¦too deeply"
            })
    void faults_are_named(String template, String message) {
        assertThatThrownBy(() -> render(template))
                .isInstanceOf(ChatTemplateException.class)
                .hasMessageContaining(message);
    }

    @Test
    void tools_keep_their_order_of_keys() {
        Map<String, Object> tool = new java.util.LinkedHashMap<>();
        tool.put("type", "function");
        tool.put("a", List.of(1, 2.5, true));
        assertThat(ChatTemplate.parse("{{ tools[0] | tojson }}", "", "").render(HELLO, List.of(tool), true, false))
                .isEqualTo("{\"type\": \"function\", \"a\": [1, 2.5, true]}");
    }
}
