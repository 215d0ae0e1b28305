package org.harnesslearning.trainer.method;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.tasks.SeedHarness;
import org.harnesslearning.trainer.rollout.Curriculum;
import tools.jackson.databind.JsonNode;

/** Reads the fields {@code harnesses} and {@code family_harnesses}: the stored harnesses that states start from, by hash. */
public final class StartHarnesses {
    private static final int MOST = 1000;

    private StartHarnesses() {}

    /** The hashes for all families; empty where the field is left out, and after a fault, which is noted. */
    public static List<String> read(Fields fields) {
        JsonNode value = fields.value("harnesses");
        List<String> hashes = new ArrayList<>();
        if (value != null && !hashes(value, hashes)) {
            fields.fault("harnesses", "must be a list of at most " + MOST + " hashes of stored harnesses");
            return List.of();
        }
        return hashes;
    }

    /** The hashes of families that have starting harnesses of their own; empty after a fault, which is noted. */
    public static Map<String, List<String>> byFamily(Fields fields) {
        JsonNode value = fields.value("family_harnesses");
        Map<String, List<String>> families = new LinkedHashMap<>();
        if (value == null) {
            return families;
        }
        boolean good = value.isObject();
        for (Map.Entry<String, JsonNode> entry : value.properties()) {
            List<String> hashes = new ArrayList<>();
            good &= hashes(entry.getValue(), hashes) && !hashes.isEmpty();
            families.put(entry.getKey(), hashes);
        }
        if (!good) {
            fields.fault(
                    "family_harnesses",
                    "must be an object of families, each with a list of 1 to " + MOST + " hashes of stored harnesses");
            return Map.of();
        }
        return families;
    }

    private static boolean hashes(JsonNode value, List<String> hashes) {
        boolean good = value.isArray() && value.size() <= MOST;
        for (JsonNode hash : value) {
            good &= hash.isString() && hash.asString().matches("sha256:[0-9a-f]{64}");
            hashes.add(hash.asString(""));
        }
        return good;
    }

    /**
     * Checks that all harnesses are there.
     *
     * @throws PlatformException INVALID_HARNESS at the first that is not
     */
    public static void check(HarnessStore harnesses, List<String> all, Map<String, List<String>> byFamily) {
        check(harnesses, "harnesses", all);
        byFamily.forEach((family, hashes) -> check(harnesses, "family_harnesses/" + family, hashes));
    }

    private static void check(HarnessStore harnesses, String field, List<String> hashes) {
        for (int i = 0; i < hashes.size(); i++) {
            if (harnesses.find(hashes.get(i)).isEmpty()) {
                throw PlatformException.field(
                        ErrorCode.INVALID_HARNESS,
                        "/" + field + "/" + i,
                        "Field " + field + " names no stored harness");
            }
        }
    }

    /** The states that begin from these harnesses; the minimal one where there are none. */
    public static Curriculum curriculum(
            List<String> families,
            List<String> all,
            Map<String, List<String>> byFamily,
            HarnessStore harnesses,
            long seed) {
        Map<String, List<String>> own = new LinkedHashMap<>();
        byFamily.forEach((family, hashes) ->
                own.put(family, hashes.stream().map(harnesses::source).toList()));
        return new Curriculum(
                families,
                all.isEmpty()
                        ? List.of(SeedHarness.MINIMAL)
                        : all.stream().map(harnesses::source).toList(),
                own,
                seed);
    }
}
