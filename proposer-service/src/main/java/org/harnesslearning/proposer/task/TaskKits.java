package org.harnesslearning.proposer.task;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.ExecutorApi;
import org.harnesslearning.contracts.execution.SandboxImage;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.execution.SandboxOffer;
import org.harnesslearning.contracts.execution.SandboxTool;
import org.harnesslearning.contracts.request.Faults;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.contracts.task.TaskSandbox;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClientException;
import tools.jackson.databind.JsonNode;

/** Image and tools that tasks name, found among those that the executor offers. */
@Component
public class TaskKits {
    private static final int LONGEST_NAME = 63;
    private static final int MOST_TOOLS = 16;

    private final ExecutorApi executor;

    TaskKits(ExecutorApi executor) {
        this.executor = executor;
    }

    /**
     * What a task's sandboxes have.
     *
     * @param mostToolCalls most calls of tools that a run may be given; 0 without tools
     */
    public record Resolved(SandboxKit kit, long mostToolCalls) {
        /** Nothing beyond the platform's own. */
        public static final Resolved NONE = new Resolved(SandboxKit.NONE, 0);
    }

    /**
     * Reads {@code sandbox} of a task, with the names of an image and of tools; faults are noted, names that are not on offer
     * among them.
     *
     * @return null where the field is absent, and with a fault
     * @throws PlatformException SANDBOX_UNAVAILABLE when the executor does not say what is on offer
     */
    public @Nullable TaskSandbox read(Fields task, Faults faults) {
        Fields sandbox = task.object("sandbox");
        if (sandbox == null) {
            return null;
        }
        String image = sandbox.text("image", LONGEST_NAME);
        List<String> tools = names(sandbox);
        sandbox.end();
        if (image == null && tools.isEmpty()) {
            return null;
        }
        TaskSandbox wanted = new TaskSandbox(image, tools);
        SandboxKit found = resolve(wanted, sandbox.pointer("image"), sandbox.pointer("tools"), faults)
                .kit();
        boolean all = found.tools().size() == tools.size() && (image == null || found.image() != null);
        return all ? wanted : null;
    }

    private static List<String> names(Fields sandbox) {
        JsonNode given = sandbox.value("tools");
        if (given == null) {
            return List.of();
        }
        boolean texts = given.isArray() && given.valueStream().allMatch(JsonNode::isString);
        List<String> names =
                texts ? given.valueStream().map(JsonNode::stringValue).toList() : List.of();
        if (!texts || names.size() > MOST_TOOLS || names.stream().distinct().count() < names.size()) {
            sandbox.fault("tools", "must be an array of at most " + MOST_TOOLS + " different names");
            return List.of();
        }
        return names;
    }

    /**
     * Image and tools by name, as query parameters give them.
     *
     * @param tools names with commas between them
     * @throws PlatformException UNKNOWN_IMAGE, UNKNOWN_TOOL, INVALID_FIELD, SANDBOX_UNAVAILABLE
     */
    public @Nullable TaskSandbox read(@Nullable String image, @Nullable String tools) {
        Faults faults = new Faults();
        List<String> names = tools == null ? List.of() : List.of(tools.split(",", -1));
        if (names.size() > MOST_TOOLS || names.stream().distinct().count() < names.size()) {
            faults.add("/tools", ErrorCode.INVALID_FIELD, "tools must be at most " + MOST_TOOLS + " different names");
        }
        faults.check();
        if (image == null && names.isEmpty()) {
            return null;
        }
        TaskSandbox wanted = new TaskSandbox(image, names);
        resolve(wanted, "/image", "/tools", faults);
        faults.check();
        return wanted;
    }

    /**
     * What is on offer under a task's names; faults are noted.
     *
     * @param pointer where the task stands in the request
     * @throws PlatformException SANDBOX_UNAVAILABLE when the executor does not say what is on offer
     */
    public Resolved resolve(@Nullable TaskSandbox wanted, String pointer, Faults faults) {
        return wanted == null ? Resolved.NONE : resolve(wanted, pointer, pointer, faults);
    }

    private Resolved resolve(TaskSandbox wanted, String imagePointer, String toolsPointer, Faults faults) {
        SandboxOffer offer = offer();
        SandboxImage image = null;
        if (wanted.image() != null) {
            image = offer.images().stream()
                    .filter(known -> known.name().equals(wanted.image()))
                    .findFirst()
                    .orElse(null);
            if (image == null) {
                faults.add(
                        imagePointer,
                        ErrorCode.UNKNOWN_IMAGE,
                        "There is no sandbox image " + wanted.image() + known(offer.images(), SandboxImage::name));
            }
        }
        List<SandboxTool> tools = new ArrayList<>();
        for (String name : wanted.tools()) {
            offer.tools().stream()
                    .filter(known -> known.name().equals(name))
                    .findFirst()
                    .ifPresentOrElse(
                            tools::add,
                            () -> faults.add(
                                    toolsPointer,
                                    ErrorCode.UNKNOWN_TOOL,
                                    "There is no tool " + name + known(offer.tools(), SandboxTool::name)));
        }
        return new Resolved(new SandboxKit(image, tools), tools.isEmpty() ? 0 : offer.toolCallsPerRun());
    }

    private static <T> String known(List<T> offered, Function<T, String> name) {
        return offered.isEmpty()
                ? "; the operator offers none"
                : "; known are " + offered.stream().map(name).sorted().collect(Collectors.joining(", "));
    }

    /**
     * All that is on offer.
     *
     * @throws PlatformException SANDBOX_UNAVAILABLE when the executor does not say it
     */
    SandboxOffer offer() {
        try {
            return executor.offer();
        } catch (RestClientException e) {
            throw new PlatformException(ErrorCode.SANDBOX_UNAVAILABLE, "The executor can't be reached", e);
        }
    }
}
