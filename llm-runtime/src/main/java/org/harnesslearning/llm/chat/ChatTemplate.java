package org.harnesslearning.llm.chat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * A checkpoint's own chat template. Templates are written in Jinja; what the supported families use of it is evaluated
 * here (white space as {@code trim_blocks} and {@code lstrip_blocks} have it), since Java's Jinja libraries lack
 * Python's string methods, slices and braces inside strings, which these templates need.
 *
 * <p>{@code strftime_now} is left undefined, so that templates fall back to their fixed date and a conversation always
 * renders to the same text. Immutable and thread-safe.
 */
public final class ChatTemplate {
    private static final int FIRST_PRIVATE = 0xE000;
    private static final int LAST_PRIVATE = 0xF8FF;

    private final String source;
    private final List<Statement> statements;
    private final String bos;
    private final String eos;

    private ChatTemplate(String source, List<Statement> statements, String bos, String eos) {
        this.source = source;
        this.statements = statements;
        this.bos = bos;
        this.eos = eos;
    }

    /**
     * Parses a template.
     *
     * @param bos text of the begin-of-sequence token, empty where there is none
     * @param eos text of the end-of-sequence token, empty where there is none
     * @throws ChatTemplateException when it is not valid or uses a tag that is not supported
     */
    public static ChatTemplate parse(String source, String bos, String eos) {
        return new ChatTemplate(source, List.copyOf(new TemplateParser(source).parse()), bos, eos);
    }

    /** The template's text. */
    public String source() {
        return source;
    }

    /**
     * Renders a conversation.
     *
     * @param tools tool descriptions as the OpenAI API writes them; empty for none
     * @param addGenerationPrompt whether the opening of an assistant turn follows
     * @param continueFinalMessage whether the last turn is left open after its content, so that generation continues it;
     *     excludes {@code addGenerationPrompt}
     * @throws ChatTemplateException when the template fails or refuses the conversation
     */
    public String render(
            List<ChatMessage> messages,
            List<Map<String, Object>> tools,
            boolean addGenerationPrompt,
            boolean continueFinalMessage) {
        return render(messages, tools, addGenerationPrompt, continueFinalMessage, UnaryOperator.identity());
    }

    /** As above, with {@code text} applied to every string of the conversation before the template sees it. */
    String render(
            List<ChatMessage> messages,
            List<Map<String, Object>> tools,
            boolean addGenerationPrompt,
            boolean continueFinalMessage,
            UnaryOperator<String> text) {
        if (messages.isEmpty()) {
            throw new ChatTemplateException("a conversation needs at least one message");
        }
        char endMark = unusedCharacter(messages, tools, 1);
        List<Object> turns = new ArrayList<>();
        for (int i = 0; i < messages.size(); i++) {
            Map<String, Object> turn = messages.get(i).asVariables(text);
            if (continueFinalMessage && i == messages.size() - 1) {
                if (addGenerationPrompt) {
                    throw new ChatTemplateException("a reply is either begun or continued, not both");
                }
                if (!(turn.get("content") instanceof String content)) {
                    throw new ChatTemplateException("the message to continue has no content");
                }
                turn.put("content", content + endMark);
            }
            turns.add(turn);
        }
        Map<String, Object> variables = new HashMap<>();
        variables.put("messages", turns);
        variables.put("tools", tools.isEmpty() ? Values.NONE : Values.mapped(tools, text));
        variables.put("documents", Values.NONE);
        variables.put("add_generation_prompt", addGenerationPrompt);
        variables.put("bos_token", bos);
        variables.put("eos_token", eos);
        String rendered = new Interpreter().render(statements, variables);
        if (!continueFinalMessage) {
            return rendered;
        }
        int cut = rendered.lastIndexOf(endMark);
        if (cut < 0) {
            throw new ChatTemplateException(
                    "the chat template does not show the last message, so it cannot be continued");
        }
        return rendered.substring(0, cut).replace(String.valueOf(endMark), "");
    }

    /** A private-use character that occurs nowhere in the template and the conversation; the {@code skip}-th such. */
    char unusedCharacter(List<ChatMessage> messages, List<Map<String, Object>> tools, int skip) {
        boolean[] used = new boolean[LAST_PRIVATE - FIRST_PRIVATE + 1];
        mark(source, used);
        for (ChatMessage message : messages) {
            mark(message.role(), used);
            mark(message.content() == null ? "" : message.content(), used);
            mark(message.toolCallId() == null ? "" : message.toolCallId(), used);
            mark(message.toolCalls().toString(), used);
        }
        mark(tools.toString(), used);
        int left = skip;
        for (int i = 0; i < used.length; i++) {
            if (!used[i] && left-- == 0) {
                return (char) (FIRST_PRIVATE + i);
            }
        }
        throw new ChatTemplateException("the conversation uses every private-use character");
    }

    private static void mark(String text, boolean[] used) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c >= FIRST_PRIVATE && c <= LAST_PRIVATE) {
                used[c - FIRST_PRIVATE] = true;
            }
        }
    }
}
