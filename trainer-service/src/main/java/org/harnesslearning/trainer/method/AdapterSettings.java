package org.harnesslearning.trainer.method;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.trainer.decoder.LoraSettings;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * The low-rank adapter that is trained. A run that begins from another version's adapter has that one's form.
 *
 * @param rank 1 to 1024
 * @param alpha the adapter's output is multiplied by alpha / rank
 * @param dropout of its inputs in training
 * @param rankStabilised alpha / √rank instead
 * @param targetModules projections that have one, by name
 */
public record AdapterSettings(
        int rank, double alpha, double dropout, boolean rankStabilised, List<String> targetModules) {
    private static final List<String> ALL = List.copyOf(LoraSettings.ALL_MODULES);

    public AdapterSettings {
        targetModules = List.copyOf(targetModules);
    }

    /** Reads the field {@code lora}. */
    public static AdapterSettings read(@Nullable Fields fields) {
        if (fields == null) {
            return new AdapterSettings(16, 32, 0, false, ALL);
        }
        int rank = (int) fields.integer("rank", 16, 1, 1024);
        AdapterSettings settings = new AdapterSettings(
                rank,
                fields.number("alpha", 2.0 * rank, 1e-6, 1e6),
                fields.number("dropout", 0, 0, 0.95),
                fields.bool("rank_stabilised", false),
                modules(fields));
        fields.end();
        return settings;
    }

    private static List<String> modules(Fields fields) {
        JsonNode value = fields.value("target_modules");
        if (value == null) {
            return ALL;
        }
        Set<String> modules = new TreeSet<>();
        boolean good = value.isArray() && !value.isEmpty();
        for (JsonNode module : value) {
            good &= module.isString() && LoraSettings.ALL_MODULES.contains(module.asString());
            modules.add(module.asString(""));
        }
        if (!good) {
            fields.fault("target_modules", "must be a list of some of " + String.join(", ", ALL));
            return ALL;
        }
        return new ArrayList<>(modules);
    }

    /** In the engine's form. */
    public LoraSettings lora() {
        return new LoraSettings(rank, alpha, dropout, rankStabilised, Set.copyOf(targetModules));
    }
}
