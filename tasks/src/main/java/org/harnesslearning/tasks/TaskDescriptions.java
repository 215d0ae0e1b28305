package org.harnesslearning.tasks;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.harnesslearning.contracts.json.Json;

/**
 * What each built-in family asks for: one committed sentence with the answer's form and the scoring rule. It names no item
 * and hints at no solution. A changed sentence is a new version, since runs under different versions are not comparable.
 *
 * @param version name of the set, part of a run's settings
 * @param families sentence by family name
 */
public record TaskDescriptions(String version, Map<String, String> families) {
    private static final String RESOURCE = "descriptions-v1.json";

    public TaskDescriptions {
        families = Collections.unmodifiableMap(new TreeMap<>(families));
    }

    /** The sentences shipped with the platform, those of the 47 built-in families. */
    public static TaskDescriptions builtIn() {
        return Holder.BUILT_IN;
    }

    /** The sentence of a family; empty for families that are not built in. */
    public Optional<String> of(String family) {
        return Optional.ofNullable(families.get(family));
    }

    private static TaskDescriptions load() {
        try (InputStream in = TaskDescriptions.class.getResourceAsStream(RESOURCE)) {
            if (in == null) {
                throw new IllegalStateException(RESOURCE + " is missing");
            }
            return Json.mapper().readValue(in, TaskDescriptions.class);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static final class Holder {
        static final TaskDescriptions BUILT_IN = load();
    }
}
