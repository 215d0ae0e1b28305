package org.harnesslearning.proposer.task;

import java.util.LinkedHashMap;
import java.util.Map;
import org.harnesslearning.contracts.execution.SandboxOffer;
import org.harnesslearning.contracts.execution.SandboxTool;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** {@code GET /sandboxes}: the images and tools that tasks may name. */
@RestController
class SandboxController {
    private final TaskKits kits;

    SandboxController(TaskKits kits) {
        this.kits = kits;
    }

    @GetMapping("/sandboxes")
    Map<String, Object> offer() {
        SandboxOffer offer = kits.offer();
        Map<String, Object> view = new LinkedHashMap<>();
        view.put(
                "images",
                offer.images().stream()
                        .map(image -> Map.of("name", image.name(), "description", image.description()))
                        .toList());
        view.put("tools", offer.tools().stream().map(SandboxController::view).toList());
        view.put("tool_calls_per_run", offer.toolCallsPerRun());
        return view;
    }

    private static Map<String, Object> view(SandboxTool tool) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("name", tool.name());
        view.put("description", tool.description());
        view.put("arguments", tool.arguments());
        view.put("answer", tool.answer());
        view.put("calls_per_question", tool.callsPerQuestion());
        return view;
    }
}
