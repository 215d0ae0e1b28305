package org.harnesslearning.trainer.method;

import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.tasks.SeedHarness;
import tools.jackson.databind.JsonNode;

/** The field {@code harnesses}: the stored harnesses that states start from, by hash. */
public final class StartHarnesses {
    private StartHarnesses() {}

    /** The hashes; empty where the field is left out, and after a fault, which is noted. */
    public static List<String> read(Fields fields) {
        JsonNode value = fields.value("harnesses");
        List<String> hashes = new ArrayList<>();
        if (value == null) {
            return hashes;
        }
        boolean good = value.isArray() && value.size() <= 1000;
        for (JsonNode hash : value) {
            good &= hash.isString() && hash.asString().matches("sha256:[0-9a-f]{64}");
            hashes.add(hash.asString(""));
        }
        if (!good) {
            fields.fault("harnesses", "must be a list of at most 1000 hashes of stored harnesses");
            return List.of();
        }
        return hashes;
    }

    /**
     * Checks that all are stored.
     *
     * @throws PlatformException INVALID_HARNESS at the first one that is not
     */
    public static void check(HarnessStore harnesses, List<String> hashes) {
        for (int i = 0; i < hashes.size(); i++) {
            if (harnesses.find(hashes.get(i)).isEmpty()) {
                throw PlatformException.field(
                        ErrorCode.INVALID_HARNESS, "/harnesses/" + i, "Field harnesses names no stored harness");
            }
        }
    }

    /** Their sources; without any that of the minimal one. */
    public static List<String> sources(HarnessStore harnesses, List<String> hashes) {
        return hashes.isEmpty()
                ? List.of(SeedHarness.MINIMAL)
                : hashes.stream().map(harnesses::source).toList();
    }
}
