package org.harnesslearning.solver.catalog;

import java.util.List;

/**
 * A known model.
 *
 * @param name short name, also that of its cache folder
 * @param title the maker's name for it
 * @param licence under which the maker publishes it
 * @param bytes exact size of the GGUF file
 * @param sha256 hash of the GGUF file, 64 lower-case hex digits
 * @param sources where it can be had, in the default order
 */
public record ModelEntry(
        String name, String title, String maker, String licence, long bytes, String sha256, List<ModelSource> sources) {
    public ModelEntry {
        if (!name.matches("[a-z0-9][a-z0-9._-]*") || !sha256.matches("[0-9a-f]{64}")) {
            throw new IllegalArgumentException("not a catalogue entry: " + name);
        }
        sources = List.copyOf(sources);
    }
}
