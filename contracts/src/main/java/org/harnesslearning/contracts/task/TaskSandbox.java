package org.harnesslearning.contracts.task;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a user's task wants of its sandboxes, by the names that the operator gave.
 *
 * @param image name of an image that the operator allows; null for the platform's own
 * @param tools names of tools that the operator offers, in the order of the request
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record TaskSandbox(@Nullable String image, List<String> tools) {
    public TaskSandbox {
        tools = List.copyOf(tools);
    }
}
