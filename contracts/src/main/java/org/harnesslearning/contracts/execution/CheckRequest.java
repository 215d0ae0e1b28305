package org.harnesslearning.contracts.execution;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/**
 * Check a harness without any model call: compile and walk the syntax tree, then import it and call its entry point
 * once with canned replies, in a sandbox.
 *
 * @param kit image and tools of the harness's task; null for none
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record CheckRequest(
        String source, Limits limits, @Nullable SandboxKit kit) {
    /** In the platform's own image, without tools. */
    public CheckRequest(String source, Limits limits) {
        this(source, limits, null);
    }
}
