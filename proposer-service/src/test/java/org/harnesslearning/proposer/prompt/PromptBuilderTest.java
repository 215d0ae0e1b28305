package org.harnesslearning.proposer.prompt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.util.List;
import org.harnesslearning.contracts.execution.SandboxImage;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.execution.SandboxTool;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ChatRequest.Message;
import org.harnesslearning.proposer.edit.ReplyForm;
import org.harnesslearning.tasks.TaskDescriptions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class PromptBuilderTest {
    private static final String SEED = "def run(question, env):\n    return env.llm(question)\n";

    private final PromptBuilder builder = new PromptBuilder(PromptBuilder.CURRENT);

    private static PromptRequest request(
            ReplyForm form, @Nullable Demonstration demonstration, boolean retriever, String prefix) {
        String report = new ReportRenderer(PromptBuilder.CURRENT)
                .render(Reports.mixed(), TokenCounter.byCharacters(), ReportRenderer.DEFAULT_MAX_TOKENS);
        return new PromptRequest(
                TaskDescriptions.builtIn().of("chain_sum").orElseThrow(),
                SEED,
                report,
                form,
                demonstration,
                PromptRequest.DEFAULT_FORBIDDEN_IMPORTS,
                retriever,
                prefix);
    }

    private static Demonstration program() {
        return Demonstrations.named("default").orElseThrow().forFamily("chain_sum").stream()
                .filter(demonstration -> demonstration.name().equals("program"))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void promptsAreAsCommitted() throws IOException {
        Golden.check(
                "prompt-plain.txt", Golden.text(builder.build(request(ReplyForm.SEARCH_REPLACE, null, false, ""))));
        Golden.check(
                "prompt-demonstration.txt",
                Golden.text(builder.build(request(ReplyForm.SEARCH_REPLACE, program(), false, ""))));
        Golden.check(
                "prompt-whole-file.txt",
                Golden.text(builder.build(request(ReplyForm.WHOLE_FILE, program(), true, "The "))));
    }

    @Test
    void toolsAndImageOfTheTaskAreTold() throws IOException {
        SandboxTool prices = new SandboxTool(
                "prices",
                "Price of an article\nin cents",
                Json.mapper().readTree("{\"type\":\"object\",\"properties\":{\"article\":{\"type\":\"string\"}}}"),
                SandboxTool.Answer.JSON,
                16,
                "sha256:1");
        SandboxTool news = new SandboxTool(
                "news", "", Json.mapper().readTree("{\"type\":\"object\"}"), SandboxTool.Answer.TEXT, 2, "sha256:2");
        SandboxKit kit =
                new SandboxKit(new SandboxImage("money", "team/money:1", "money (euros)."), List.of(prices, news));
        PromptRequest plain = request(ReplyForm.SEARCH_REPLACE, null, false, "");
        Golden.check(
                "prompt-tools.txt",
                Golden.text(builder.build(new PromptRequest(
                        plain.task(),
                        plain.harness(),
                        new ReportRenderer(PromptBuilder.CURRENT)
                                .render(
                                        Reports.withTools(),
                                        TokenCounter.byCharacters(),
                                        ReportRenderer.DEFAULT_MAX_TOKENS),
                        plain.replyForm(),
                        null,
                        plain.forbiddenImports(),
                        false,
                        kit,
                        ""))));
    }

    @Test
    void whatChangesLeastStandsFirst() {
        ProposerPrompt one = builder.build(request(ReplyForm.SEARCH_REPLACE, program(), false, ""));
        PromptRequest other = new PromptRequest(
                "Another task.",
                "x\n",
                "Another report.",
                ReplyForm.SEARCH_REPLACE,
                program(),
                PromptRequest.DEFAULT_FORBIDDEN_IMPORTS,
                false,
                "");
        ProposerPrompt two = builder.build(other);
        assertThat(one.messages()).extracting(Message::role).containsExactly("system", "user", "assistant", "user");
        assertThat(two.messages().subList(0, 3)).isEqualTo(one.messages().subList(0, 3));
        assertThat(one.messages().getLast().content()).endsWith("Your edit:");
        assertThat(one.demonstration()).isEqualTo("program");
        assertThat(one.version()).isEqualTo("proposer-v1");
        assertThat(one.continued()).isFalse();
    }

    @Test
    void theReplyPrefixIsAnOpenAssistantTurn() {
        ProposerPrompt prompt = builder.build(request(ReplyForm.SEARCH_REPLACE, null, false, "The harness"));
        assertThat(prompt.continued()).isTrue();
        assertThat(prompt.messages().getLast()).isEqualTo(new Message("assistant", "The harness"));
    }

    @Test
    void theForbiddenImportsAreThoseOfTheConfiguration() {
        PromptRequest request = new PromptRequest(
                "t", SEED, "r", ReplyForm.SEARCH_REPLACE, null, List.of("turtle", "antigravity"), false, "");
        assertThat(builder.build(request).messages().getFirst().content())
                .contains("Not allowed: turtle, antigravity.")
                .doesNotContain("ctypes");
    }

    @Test
    void searchIsNamedOnlyWhereTheTaskHasARetriever() {
        assertThat(builder.build(request(ReplyForm.SEARCH_REPLACE, null, true, ""))
                        .messages()
                        .getFirst()
                        .content())
                .contains("env.search(query, k=5)");
        assertThat(builder.build(request(ReplyForm.SEARCH_REPLACE, null, false, ""))
                        .messages()
                        .getFirst()
                        .content())
                .doesNotContain("env.search");
    }

    @Test
    void noFieldOfThePlatformReachesThePrompt() {
        for (ReplyForm form : ReplyForm.values()) {
            String text = Golden.text(builder.build(request(form, program(), true, "")));
            Reports.mixed()
                    .forEach(entry -> assertThat(text)
                            .doesNotContain(entry.result().itemHash())
                            .doesNotContain(entry.result().itemHash().substring("sha256:".length())));
            assertThat(text)
                    .doesNotContainIgnoringCase("sha256")
                    .doesNotContainIgnoringCase("budget")
                    .doesNotContainIgnoringCase("held_out")
                    .doesNotContainIgnoringCase("held-out")
                    .doesNotContainIgnoringCase("chain_sum")
                    .doesNotContainIgnoringCase("base_conversion")
                    .doesNotContain("_s\":")
                    .doesNotContain("918273")
                    .doesNotContain("645546")
                    .doesNotContain("777111")
                    .doesNotContainPattern("(adp|rev|evl|tsk|trn|key)_[0-9A-Za-z]{6}")
                    .doesNotContainPattern("(?m)(^|\\s)/(tmp|root|home|var|usr)/");
        }
    }

    @Test
    void aHarnessThatQuotesTheTemplateIsNotExpanded() {
        PromptRequest request = new PromptRequest(
                "{{report}}",
                "x = '''\n```\n{{task}}\n'''\n",
                "{{harness}}",
                ReplyForm.SEARCH_REPLACE,
                null,
                List.of(),
                false,
                "");
        String user = builder.build(request).messages().getLast().content();
        assertThat(user).contains("Task\n{{report}}").contains("{{task}}").contains("````python\n");
    }

    @Test
    void anUnknownVersionIsRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> new PromptBuilder("proposer-v0"));
    }
}
