package org.harnesslearning.contracts.model;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Body of {@code POST /tokenize}: either {@code prompt} (plain text, with the
 * begin-of-sequence token where the checkpoint wants one) or {@code messages}
 * (rendered with the chat template and the generation prompt).
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record TokenizeRequest(
        String model, @Nullable String prompt, @Nullable List<ChatRequest.Message> messages) {}
