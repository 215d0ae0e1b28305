package org.harnesslearning.trainer.registry;

import java.util.List;
import org.harnesslearning.contracts.request.Fields;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * How a version is compared with the serving one. Both get the same families, seeds, questions and budgets.
 *
 * @param families the withheld training families
 * @param seed first seed of the questions
 * @param seeds sets of questions a family
 * @param feedback questions of the report a set
 * @param dev questions that edits are scored on a set
 * @param candidates replies a set
 * @param minGain least mean gain
 * @param confidence level of the interval whose lower bound must be above 0
 * @param proposer decoding settings as {@code /revise} takes them, without model and demonstrations
 * @param solver as {@code /revise} takes it
 * @param limits as {@code /revise} takes them
 */
record PromotionSettings(
        List<String> families,
        long seed,
        int seeds,
        int feedback,
        int dev,
        int candidates,
        double minGain,
        double confidence,
        @Nullable JsonNode proposer,
        @Nullable JsonNode solver,
        @Nullable JsonNode limits) {
    PromotionSettings {
        families = List.copyOf(families);
        proposer = present(proposer);
        solver = present(solver);
        limits = present(limits);
    }

    /** Stored settings have JSON null where the request had nothing. */
    private static @Nullable JsonNode present(@Nullable JsonNode node) {
        return node == null || node.isNull() ? null : node;
    }

    /** Reads the request's {@code evaluation}; null where it has none. */
    static PromotionSettings read(@Nullable Fields evaluation, List<String> families) {
        if (evaluation == null) {
            return new PromotionSettings(families, 1, 1, 6, 12, 4, 0, 0.95, null, null, null);
        }
        JsonNode proposer = object(evaluation, "proposer");
        if (proposer != null && (proposer.has("model") || proposer.has("demonstrations"))) {
            evaluation.fault("proposer", "must not name model or demonstrations: the comparison sets both");
        }
        PromotionSettings read = new PromotionSettings(
                families,
                evaluation.integer("seed", 1, 0, 1_000_000),
                (int) evaluation.integer("seeds", 1, 1, 50),
                (int) evaluation.integer("feedback", 6, 1, 200),
                (int) evaluation.integer("dev", 12, 1, 200),
                (int) evaluation.integer("candidates", 4, 1, 64),
                evaluation.number("min_gain", 0, -1, 1),
                evaluation.number("confidence", 0.95, 0.5, 0.999),
                proposer,
                object(evaluation, "solver"),
                object(evaluation, "limits"));
        evaluation.end();
        return read;
    }

    private static @Nullable JsonNode object(Fields fields, String name) {
        JsonNode value = fields.value(name);
        if (value != null && !value.isObject()) {
            fields.fault(name, "must be an object");
            return null;
        }
        return value;
    }
}
