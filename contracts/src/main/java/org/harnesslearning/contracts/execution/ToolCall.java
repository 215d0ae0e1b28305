package org.harnesslearning.contracts.execution;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/**
 * One brokered call of {@code env.tool}; texts are truncated head and tail.
 *
 * @param arguments as JSON text
 * @param result what the harness got, JSON or text; null when the call failed
 * @param error why it failed, null when it did not
 * @param status HTTP status of the tool's answer, where it gave one
 * @param ms wall clock in milliseconds, queueing and further tries included
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record ToolCall(
        String tool,
        String arguments,
        @Nullable String result,
        @Nullable String error,
        @Nullable Integer status,
        long ms) {}
