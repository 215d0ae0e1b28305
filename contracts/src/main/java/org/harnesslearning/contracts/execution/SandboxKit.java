package org.harnesslearning.contracts.execution;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.harnesslearning.contracts.hash.Hashes;
import org.jspecify.annotations.Nullable;

/**
 * What the sandboxes of one task have beyond the platform's own, as the operator offered it when the run was made. An
 * executor that offers something else under the same name refuses it, so a run never mixes two versions.
 *
 * @param image null for the platform's own image
 * @param tools the tools that {@code env.tool} knows
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record SandboxKit(@Nullable SandboxImage image, List<SandboxTool> tools) {
    /** The platform's own image and no tool. */
    public static final SandboxKit NONE = new SandboxKit(null, List.of());

    public SandboxKit {
        tools = List.copyOf(tools);
    }

    /** A tool by name. */
    public Optional<SandboxTool> tool(String name) {
        return tools.stream().filter(tool -> tool.name().equals(name)).findFirst();
    }

    /**
     * Hash of all that answers a harness: the solver, and image and tools where there are some. It stands in the place of
     * the solver's hash in the evaluation cache's key.
     */
    public String answersHash(String solverHash) {
        if (image == null && tools.isEmpty()) {
            return solverHash;
        }
        Map<String, Object> fields = new TreeMap<>();
        fields.put("solver", solverHash);
        fields.put("image", image == null ? "" : image.reference());
        Map<String, String> hashes = new TreeMap<>();
        tools.forEach(tool -> hashes.put(tool.name(), tool.hash()));
        fields.put("tools", hashes);
        return Hashes.json(fields);
    }
}
