package org.harnesslearning.trainer.rollout;

import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** Bodies of requests to proposer-service; the same arguments always give the same text. */
final class Requests {
    private Requests() {}

    /**
     * A revision.
     *
     * @param harness source
     * @param demonstrations name of a set of earlier turns; {@code none} for no set
     */
    static ObjectNode revision(
            RolloutSettings settings,
            String baseModel,
            String family,
            long itemSeed,
            String harness,
            String model,
            String demonstrations,
            int candidates,
            long seed,
            String trainingRun) {
        ObjectNode body = common(settings, baseModel, family, itemSeed, harness, seed, trainingRun);
        body.put("candidates", candidates);
        ObjectNode proposer = body.putObject("proposer");
        proposer.put("model", model);
        proposer.put("temperature", settings.temperature());
        proposer.put("top_p", settings.topP());
        proposer.put("max_tokens", settings.maxTokens());
        proposer.put("demonstrations", demonstrations);
        proposer.put("reply_form", settings.replyForm());
        String prefix = settings.replyPrefix();
        if (prefix != null) {
            proposer.put("reply_prefix", prefix);
        }
        return body;
    }

    /** The scoring of one harness on questions of a revision. */
    static ObjectNode evaluation(ObjectNode revision, String harness, String split, int repeat) {
        ObjectNode body = revision.deepCopy();
        body.remove("candidates");
        body.remove("proposer");
        body.putObject("harness").put("source", harness);
        body.put("split", split);
        body.put("repeat", repeat);
        return body;
    }

    private static ObjectNode common(
            RolloutSettings settings,
            String baseModel,
            String family,
            long itemSeed,
            String harness,
            long seed,
            String trainingRun) {
        ObjectNode body = Json.mapper().createObjectNode();
        body.putObject("task").putObject("reasoning_gym").put("family", family).put("seed", itemSeed);
        body.putObject("harness").put("source", harness);
        body.putObject("splits")
                .put("feedback", settings.feedback())
                .put("dev", settings.dev())
                .put("held_out", 0);
        body.putObject("solver")
                .put("model", solver(settings.solverModel(), baseModel))
                .put("temperature", settings.solverTemperature())
                .put("max_tokens", settings.solverMaxTokens());
        body.putObject("budget")
                .put("solver_calls", settings.solverCalls())
                .put("tokens", settings.tokens())
                .put("wall_clock_s", settings.wallClockS());
        body.put("seed", seed);
        body.putObject("labels").put("training_run", trainingRun);
        return body;
    }

    private static String solver(@Nullable String named, String baseModel) {
        return named == null ? baseModel : named;
    }
}
