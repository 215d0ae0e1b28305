package org.harnesslearning.proposer.prompt;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.execution.SandboxImage;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.execution.SandboxTool;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ChatRequest.Message;
import org.harnesslearning.proposer.edit.ReplyForm;
import org.harnesslearning.proposer.edit.WholeFile;

/**
 * Writes the proposer's messages from versioned files.
 *
 * <p>What changes least stands first, so that candidates share a prefix: the system text is the same for all runs of one
 * setting, the demonstration for all candidates that see it, and task, harness and report come last. The result depends on
 * the request alone and holds no setting of the platform beyond it.
 */
public final class PromptBuilder {
    /** The current prompt files. */
    public static final String CURRENT = "proposer-v1";

    private final String version;
    private final Template system;
    private final Template user;
    private final String search;
    private final String tools;

    /**
     * @param version folder of the prompt files, such as {@link #CURRENT}
     * @throws IllegalArgumentException if there is no such version
     */
    public PromptBuilder(String version) {
        this.version = version;
        this.system = new Template(file("system.txt"));
        this.user = new Template(file("user.txt"));
        this.search = file("search.txt");
        this.tools = file("tools.txt");
    }

    /** Version of the prompt files; never mixed in a training group. */
    public String version() {
        return version;
    }

    /** Writes the messages. */
    public ProposerPrompt build(PromptRequest request) {
        List<Message> messages = new ArrayList<>();
        messages.add(new Message(
                "system",
                system.fill(Map.of(
                                "search", request.retriever() ? search : "",
                                "libraries", libraries(request.kit()),
                                "tools", tools(request.kit()),
                                "forbidden",
                                        request.forbiddenImports().isEmpty()
                                                ? "nothing"
                                                : String.join(", ", request.forbiddenImports()),
                                "format", file("format-" + request.replyForm().json() + ".txt")))
                        .strip()));
        Demonstration demonstration = request.demonstration();
        if (demonstration != null) {
            messages.add(turn(demonstration.task(), demonstration.seed(), demonstration.report()));
            messages.add(new Message("assistant", reply(demonstration, request.replyForm())));
        }
        messages.add(turn(request.task(), request.harness(), request.report()));
        boolean continued = !request.replyPrefix().isEmpty();
        if (continued) {
            messages.add(new Message("assistant", request.replyPrefix()));
        }
        return new ProposerPrompt(messages, version, demonstration == null ? null : demonstration.name(), continued);
    }

    private static String libraries(SandboxKit kit) {
        SandboxImage image = kit.image();
        String more = image == null ? "" : oneLine(image.description()).replaceAll("\\.+$", "");
        return "the standard library" + (more.isEmpty() ? " only" : " and this: " + more);
    }

    private String tools(SandboxKit kit) {
        if (kit.tools().isEmpty()) {
            return "";
        }
        StringBuilder lines = new StringBuilder(tools);
        for (SandboxTool tool : kit.tools()) {
            String result = switch (tool.answer()) {
                case JSON -> "a JSON value";
                case TEXT -> "text";
            };
            lines.append("  - \"")
                    .append(tool.name())
                    .append("\": ")
                    .append(tool.description().isEmpty() ? "" : ended(oneLine(tool.description())) + " ")
                    .append("Arguments, as JSON Schema: ")
                    .append(Json.write(tool.arguments()))
                    .append(". Returns ")
                    .append(result)
                    .append("; at most ")
                    .append(tool.callsPerQuestion())
                    .append(" calls a question.\n");
        }
        return lines.toString();
    }

    private static String oneLine(String text) {
        return text.strip().replaceAll("\\s+", " ");
    }

    private static String ended(String sentence) {
        return sentence.endsWith(".") ? sentence : sentence + ".";
    }

    private Message turn(String task, String harness, String report) {
        return new Message(
                "user",
                user.fill(Map.of(
                                "task",
                                task.strip(),
                                "harness",
                                WholeFile.render(harness).stripTrailing(),
                                "report",
                                report.strip()))
                        .strip());
    }

    private static String reply(Demonstration demonstration, ReplyForm form) {
        String reply = demonstration.reply().strip();
        return switch (form) {
            case SEARCH_REPLACE -> reply;
            case WHOLE_FILE -> {
                // The sentence about the edit is the same; the blocks become the file that they make.
                int end = reply.indexOf('\n');
                yield reply.substring(0, end < 0 ? reply.length() : end) + "\n\n"
                        + WholeFile.render(demonstration.result()).stripTrailing();
            }
        };
    }

    private String file(String name) {
        return Resources.read("/prompts/" + version + "/" + name);
    }
}
