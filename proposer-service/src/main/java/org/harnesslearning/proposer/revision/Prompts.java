package org.harnesslearning.proposer.revision;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.proposer.prompt.Demonstration;
import org.harnesslearning.proposer.prompt.Demonstrations;
import org.harnesslearning.proposer.prompt.PromptBuilder;
import org.harnesslearning.proposer.prompt.PromptRequest;
import org.harnesslearning.proposer.prompt.ProposerPrompt;
import org.harnesslearning.proposer.prompt.ReportEntry;
import org.harnesslearning.proposer.prompt.ReportRenderer;
import org.harnesslearning.proposer.prompt.TokenCounter;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.tasks.TaskDescriptions;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;

/** What the proposer reads in the versions that this service writes. */
@Component
public class Prompts {
    private final PromptBuilder builder = new PromptBuilder(PromptBuilder.CURRENT);
    private final ReportRenderer reports = new ReportRenderer(PromptBuilder.CURRENT);

    /** Versions of the templates in use. */
    public RunSettings.Versions versions() {
        return new RunSettings.Versions(
                builder.version(), reports.version(), TaskDescriptions.builtIn().version());
    }

    /** A set of demonstrations by name; empty when there is none. */
    public Optional<Demonstrations> demonstrations(String set) {
        return Demonstrations.named(set);
    }

    /** Description of a built-in family. */
    public String description(String family) {
        return TaskDescriptions.builtIn().of(family).orElseThrow();
    }

    /** The report on feedback questions, within its token cap; results of other questions are left out. */
    String report(List<Item> feedback, List<QuestionResult> results, TokenCounter tokens) {
        Map<String, Item> items = new HashMap<>();
        feedback.forEach(item -> items.put(item.hash(), item));
        List<ReportEntry> entries = new ArrayList<>();
        for (QuestionResult result : results) {
            Item item = items.get(result.itemHash());
            if (item != null) {
                entries.add(new ReportEntry(item.question(), item.answers(), result));
            }
        }
        return reports.render(entries, tokens, ReportRenderer.DEFAULT_MAX_TOKENS);
    }

    /**
     * The whole prompt.
     *
     * @param demonstration name of the earlier turn; null for none
     * @param kit image and tools of the task; null for none
     */
    ProposerPrompt messages(
            String description,
            @Nullable String family,
            String harness,
            String report,
            @Nullable String demonstration,
            RunSettings.Proposer proposer,
            @Nullable SandboxKit kit) {
        Demonstration shown = demonstration == null
                ? null
                : demonstrations(proposer.demonstrations()).orElseThrow().forFamily(family).stream()
                        .filter(candidate -> candidate.name().equals(demonstration))
                        .findFirst()
                        .orElseThrow();
        return builder.build(new PromptRequest(
                description,
                harness,
                report,
                proposer.replyForm(),
                shown,
                PromptRequest.DEFAULT_FORBIDDEN_IMPORTS,
                false,
                Objects.requireNonNullElse(kit, SandboxKit.NONE),
                Objects.requireNonNullElse(proposer.replyPrefix(), "")));
    }
}
