package org.harnesslearning.executor.kit;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.SandboxImage;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.execution.SandboxOffer;
import org.harnesslearning.contracts.execution.SandboxTool;
import org.jspecify.annotations.Nullable;

/** The images and tools of this executor, read and checked once, at its start. */
public final class Kits {
    /** Without images and tools. */
    public static final Kits NONE = new Kits(new KitSettings(Map.of(), Map.of(), 1));

    private static final String NAME = "[a-z0-9][a-z0-9-]{0,62}";

    private final Map<String, SandboxImage> images = new LinkedHashMap<>();
    private final Map<String, Tool> tools = new LinkedHashMap<>();
    private final long toolCallsPerRun;

    /** @throws IllegalArgumentException naming the setting that is wrong */
    public Kits(KitSettings settings) {
        new TreeMap<>(settings.images()).forEach((name, image) -> {
            checkName("executor.images", name);
            if (image.image() == null || !isFixed(image.image())) {
                throw new IllegalArgumentException("executor.images." + name
                        + ".image names an image with a digest, or with a tag other than latest");
            }
            images.put(
                    name,
                    new SandboxImage(name, image.image(), image.description().strip()));
        });
        new TreeMap<>(settings.tools()).forEach((name, tool) -> {
            checkName("executor.tools", name);
            tools.put(name, new Tool(name, tool));
        });
        toolCallsPerRun = settings.toolCallsPerRun();
    }

    private static void checkName(String place, String name) {
        if (!name.matches(NAME)) {
            throw new IllegalArgumentException(
                    place + "." + name + ": a name has small letters, digits and dashes, at most 63");
        }
    }

    /** A reference whose meaning does not change under it. */
    private static boolean isFixed(String reference) {
        if (reference.matches("[^\\s@]+@sha256:[0-9a-f]{64}") || reference.matches("sha256:[0-9a-f]{64}")) {
            return true;
        }
        String last = reference.substring(reference.lastIndexOf('/') + 1);
        return reference.matches("[A-Za-z0-9._/:-]+") && last.matches("[^:]+:[^:]+") && !last.endsWith(":latest");
    }

    /** What tasks may name. */
    public SandboxOffer offer() {
        return new SandboxOffer(
                List.copyOf(images.values()),
                tools.values().stream().map(Tool::offered).toList(),
                toolCallsPerRun);
    }

    /** A tool by name. */
    public Optional<Tool> tool(String name) {
        return Optional.ofNullable(tools.get(name));
    }

    /**
     * Refuses a kit that is not what this executor offers now.
     *
     * @throws PlatformException UNKNOWN_IMAGE, UNKNOWN_TOOL; INVALID_STATE where the operator has changed one since
     */
    public void check(@Nullable SandboxKit kit) {
        if (kit == null) {
            return;
        }
        SandboxImage image = kit.image();
        if (image != null) {
            SandboxImage known = images.get(image.name());
            if (known == null) {
                throw new PlatformException(ErrorCode.UNKNOWN_IMAGE, "There is no sandbox image " + image.name());
            }
            if (!known.reference().equals(image.reference())) {
                throw changed("The sandbox image", image.name());
            }
        }
        for (SandboxTool tool : kit.tools()) {
            Tool known = tools.get(tool.name());
            if (known == null) {
                throw new PlatformException(ErrorCode.UNKNOWN_TOOL, "There is no tool " + tool.name());
            }
            if (!known.offered().hash().equals(tool.hash())) {
                throw changed("The tool", tool.name());
            }
        }
    }

    private static PlatformException changed(String what, String name) {
        return new PlatformException(
                ErrorCode.INVALID_STATE,
                what + " " + name + " has changed since the run was ordered; order it again to use what is there now");
    }
}
