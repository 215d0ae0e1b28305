package org.harnesslearning.contracts.execution;

import java.util.List;

/**
 * What the operator allows tasks to name.
 *
 * @param toolCallsPerRun most calls of tools that one run may be given
 */
public record SandboxOffer(List<SandboxImage> images, List<SandboxTool> tools, long toolCallsPerRun) {
    public SandboxOffer {
        images = List.copyOf(images);
        tools = List.copyOf(tools);
    }
}
