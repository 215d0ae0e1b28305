package org.harnesslearning.proposer.prompt;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.tasks.TaskDescriptions;
import org.jspecify.annotations.Nullable;

/**
 * A versioned set of demonstrations.
 *
 * <p>A set may hold several demonstrations of one name, each on another family: a run on one of these families still sees
 * the pattern, on the other family.
 *
 * @param name name with version, part of a run's settings
 * @param all in the order of rotation; demonstrations of one name in the order of preference
 */
public record Demonstrations(String name, List<Demonstration> all) {
    /** No demonstration. */
    public static final Demonstrations NONE = new Demonstrations("none", List.of());

    private static final String DEFAULT = "default-v1";
    private static final String PROGRAMS = "programs-v1";
    private static final String VARIED = "varied-v1";

    public Demonstrations {
        all = List.copyOf(all);
    }

    /**
     * A set that ships with the platform.
     *
     * @param name {@code default} for the current default set, {@code none}, or a set's full name: {@code default-v1};
     *     {@code programs-v1}, whose harnesses all let the solver write programs; {@code varied-v1}, where they do so in
     *     different words and ways and half of the edits begin from a harness that was edited before; empty for any other
     *     name
     */
    public static Optional<Demonstrations> named(String name) {
        return switch (name) {
            case "none" -> Optional.of(NONE);
            case "default", DEFAULT -> Optional.of(shipped(DEFAULT));
            case PROGRAMS, VARIED -> Optional.of(shipped(name));
            default -> Optional.empty();
        };
    }

    private static Demonstrations shipped(String name) {
        return load(file -> Resources.read("/demonstrations/" + name + "/" + file));
    }

    /**
     * A set of the user's own: a folder with {@code demonstrations.json} and, for each demonstration, a folder with
     * {@code seed.py}, {@code report.txt}, {@code reply.txt} and {@code result.py}.
     *
     * @throws UncheckedIOException if a file cannot be read
     */
    public static Demonstrations read(Path folder) {
        return load(file -> {
            try {
                return Files.readString(folder.resolve(file), StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    /**
     * The demonstrations that a run on a family may see, one for each name, in the order of rotation.
     *
     * @param family the family adapted; null for a task of the user's own
     */
    public List<Demonstration> forFamily(@Nullable String family) {
        List<Demonstration> eligible = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (Demonstration demonstration : all) {
            if (!demonstration.family().equals(family) && names.add(demonstration.name())) {
                eligible.add(demonstration);
            }
        }
        return List.copyOf(eligible);
    }

    /**
     * The demonstration of one candidate: number (candidate + round) mod D of those the family may see; empty if there is
     * none.
     */
    public Optional<Demonstration> of(@Nullable String family, int candidate, int round) {
        List<Demonstration> eligible = forFamily(family);
        return eligible.isEmpty()
                ? Optional.empty()
                : Optional.of(eligible.get(Math.floorMod(candidate + round, eligible.size())));
    }

    private record Index(String name, List<Entry> demonstrations) {}

    private record Entry(
            String name,
            String folder,
            String family,
            @Nullable String task) {}

    private static Demonstrations load(UnaryOperator<String> file) {
        Index index = Json.read(file.apply("demonstrations.json"), Index.class);
        List<Demonstration> all = new ArrayList<>();
        for (Entry entry : index.demonstrations()) {
            String folder = entry.folder() + "/";
            String task = entry.task() != null
                    ? entry.task()
                    : TaskDescriptions.builtIn()
                            .of(entry.family())
                            .orElseThrow(() -> new IllegalArgumentException(
                                    "demonstration " + entry.name() + " has no task description"));
            all.add(new Demonstration(
                    entry.name(),
                    entry.family(),
                    task,
                    file.apply(folder + "seed.py"),
                    file.apply(folder + "report.txt").strip(),
                    file.apply(folder + "reply.txt"),
                    file.apply(folder + "result.py")));
        }
        return new Demonstrations(index.name(), all);
    }
}
