package org.harnesslearning.proposer.prompt;

import java.util.List;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.proposer.edit.ReplyForm;
import org.jspecify.annotations.Nullable;

/**
 * What a proposal is asked for with.
 *
 * @param task the task's description
 * @param harness the current harness
 * @param report its execution report, see {@link ReportRenderer}
 * @param replyForm how the edit is to be written
 * @param demonstration an earlier turn on another family; null for none
 * @param forbiddenImports top-level modules that the static check refuses
 * @param retriever whether the task offers {@code env.search}
 * @param kit image and tools of the task
 * @param replyPrefix first characters of the reply, for local models; empty for none
 */
public record PromptRequest(
        String task,
        String harness,
        String report,
        ReplyForm replyForm,
        @Nullable Demonstration demonstration,
        List<String> forbiddenImports,
        boolean retriever,
        SandboxKit kit,
        String replyPrefix) {

    /** What the static check of the sandbox refuses by default. */
    public static final List<String> DEFAULT_FORBIDDEN_IMPORTS =
            List.of("ctypes", "socket", "multiprocessing", "threading", "signal");

    /** In the platform's own image, without tools. */
    public PromptRequest(
            String task,
            String harness,
            String report,
            ReplyForm replyForm,
            @Nullable Demonstration demonstration,
            List<String> forbiddenImports,
            boolean retriever,
            String replyPrefix) {
        this(
                task,
                harness,
                report,
                replyForm,
                demonstration,
                forbiddenImports,
                retriever,
                SandboxKit.NONE,
                replyPrefix);
    }

    public PromptRequest {
        forbiddenImports = List.copyOf(forbiddenImports);
    }
}
