package org.harnesslearning.trainer.method;

import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.contracts.request.Fields;
import tools.jackson.databind.JsonNode;

/** Reads the field {@code harnesses}: the stored harnesses that states start from, by hash. */
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
}
