package org.harnesslearning.trainer.rollout;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.Locale;
import org.harnesslearning.contracts.request.Fields;
import org.jspecify.annotations.Nullable;

/**
 * How an edit is asked for and executed.
 *
 * @param temperature of the proposer; a policy's log-probabilities are taken at the same one
 * @param topP of the proposer
 * @param maxTokens longest reply
 * @param replyForm {@code search_replace} or {@code whole_file}
 * @param replyPrefix first characters of the reply, part of the prompt for the loss
 * @param feedback questions that the report is made from
 * @param dev questions that the reward is made from, disjoint from those
 * @param solverModel model behind {@code env.llm}; null for the base of the training
 * @param solverTemperature of that model
 * @param solverMaxTokens of each of its replies
 * @param solverCalls most calls of the solver in one revision
 * @param tokens most tokens of proposer and solver in one revision
 * @param wallClockS most seconds of work of one revision
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record RolloutSettings(
        double temperature,
        double topP,
        int maxTokens,
        String replyForm,
        @Nullable String replyPrefix,
        int feedback,
        int dev,
        @Nullable String solverModel,
        double solverTemperature,
        int solverMaxTokens,
        long solverCalls,
        long tokens,
        long wallClockS) {
    /** Temperature 0.7, top-p 0.95, replies up to 1,024 tokens; 6 feedback and 12 dev questions; a greedy solver. */
    public static final RolloutSettings DEFAULTS =
            new RolloutSettings(0.7, 0.95, 1024, "search_replace", null, 6, 12, null, 0, 512, 20_000, 20_000_000, 3600);

    private enum ReplyForm {
        SEARCH_REPLACE,
        WHOLE_FILE
    }

    /** Reads the field {@code rollout}. */
    public static RolloutSettings read(@Nullable Fields fields) {
        RolloutSettings otherwise = DEFAULTS;
        if (fields == null) {
            return otherwise;
        }
        RolloutSettings settings = new RolloutSettings(
                fields.number("temperature", otherwise.temperature, 0.01, 2),
                fields.number("top_p", otherwise.topP, 0.01, 1),
                (int) fields.integer("max_tokens", otherwise.maxTokens, 1, 32_768),
                fields.choice("reply_form", ReplyForm.class, ReplyForm.SEARCH_REPLACE)
                        .name()
                        .toLowerCase(Locale.ROOT),
                fields.text("reply_prefix", 2000),
                (int) fields.integer("feedback", otherwise.feedback, 1, 500),
                (int) fields.integer("dev", otherwise.dev, 1, 500),
                fields.text("solver_model", 200),
                fields.number("solver_temperature", otherwise.solverTemperature, 0, 2),
                (int) fields.integer("solver_max_tokens", otherwise.solverMaxTokens, 1, 32_768),
                fields.integer("solver_calls", otherwise.solverCalls, 1, 100_000_000),
                fields.integer("tokens", otherwise.tokens, 1, 1_000_000_000_000L),
                fields.integer("wall_clock_s", otherwise.wallClockS, 1, 31_536_000));
        fields.end();
        return settings;
    }
}
