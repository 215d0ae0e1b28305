package org.harnesslearning.benchmarks.learning;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.harnesslearning.tasks.SeedHarness;

/** Harnesses that learned ones are compared with. */
final class Harnesses {
    private static final String DEMONSTRATIONS = "/demonstrations/";

    private Harnesses() {}

    /** The minimal harness, and two that were written by hand, by name. */
    static Map<String, String> handWritten() {
        Map<String, String> harnesses = new LinkedHashMap<>();
        harnesses.put("seed", SeedHarness.MINIMAL);
        harnesses.put("tags", read("/learning/tags.py"));
        harnesses.put("program", read("/learning/program.py"));
        return harnesses;
    }

    /** What the demonstrations' edits make of their harnesses: a proposer that copies one has found this. */
    static Map<String, String> demonstrations() {
        Map<String, String> harnesses = new LinkedHashMap<>();
        put(harnesses, "default-v1", "program", "tags", "vote", "solve");
        put(harnesses, "programs-v1", "program-vote", "program-reason");
        put(harnesses, "varied-v1", "script", "compute", "committee", "tags-to-script", "plan-first", "programs-vote");
        return harnesses;
    }

    private static void put(Map<String, String> harnesses, String set, String... names) {
        for (String name : names) {
            harnesses.put(name, read(DEMONSTRATIONS + set + "/" + name + "/result.py"));
        }
    }

    private static String read(String resource) {
        try (InputStream in = Harnesses.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new LearnException("the class path lacks " + resource);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
