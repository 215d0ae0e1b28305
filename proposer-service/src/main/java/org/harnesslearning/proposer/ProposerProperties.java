package org.harnesslearning.proposer;

import java.time.Duration;
import java.util.Map;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.proposer.evaluation.Patience;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the proposer service.
 *
 * @param defaultModel model of proposer and solver where a request names none
 * @param executorTimeout longest wait for one answer of the executor, generation and checks included
 * @param modelTimeout longest wait for one answer of the model endpoint
 * @param pollWait longest wait of one question to the executor how far an evaluation is
 * @param questionLanes containers at once for one evaluation
 * @param candidateLanes candidates of a round that are judged at once
 * @param attempts tries of one unit of work before it counts as an infrastructure failure
 * @param retryDelay pause before the second try; doubled for each further one
 * @param executorPatience longest wait of one evaluation or check for room at a full executor; beyond it that counts as a
 *     failed try
 * @param eventPoll how often an event stream looks for new events
 * @param heartbeat time between heartbeat comments of an event stream
 * @param maxWait longest {@code Prefer: wait}
 * @param reviseWait wait of a revision or evaluation without {@code Prefer}
 * @param liveMaxAge how long a team's agent may use its copy of a live harness without asking again
 * @param prices price by model name, for cost and {@code gate.max_cost}; models without one have no cost
 */
@ConfigurationProperties("proposer")
public record ProposerProperties(
        @DefaultValue("qwen2.5-coder-1.5b") String defaultModel,
        @DefaultValue("10m") Duration executorTimeout,
        @DefaultValue("30m") Duration modelTimeout,
        @DefaultValue("2s") Duration pollWait,
        @DefaultValue("6") int questionLanes,
        @DefaultValue("2") int candidateLanes,
        @DefaultValue("3") int attempts,
        @DefaultValue("2s") Duration retryDelay,
        @DefaultValue("30m") Duration executorPatience,
        @DefaultValue("500ms") Duration eventPoll,
        @DefaultValue("15s") Duration heartbeat,
        @DefaultValue("10m") Duration maxWait,
        @DefaultValue("60s") Duration reviseWait,
        @DefaultValue("10s") Duration liveMaxAge,
        @DefaultValue Map<String, Price> prices) {
    /** Price of a million tokens, in the currency of the installation. */
    public record Price(
            @DefaultValue("0") double prompt,
            @DefaultValue("0") double completion) {
        public Price {
            if (!(prompt >= 0 && completion >= 0) || Double.isInfinite(prompt + completion)) {
                throw new IllegalArgumentException("proposer.prices must not be negative");
            }
        }
    }

    public ProposerProperties {
        if (questionLanes < 1 || candidateLanes < 1 || attempts < 1) {
            throw new IllegalArgumentException(
                    "proposer.question-lanes, proposer.candidate-lanes and proposer.attempts are at least 1");
        }
        prices = Map.copyOf(prices);
    }

    /** Price of a model; a pinned version ({@code name@sha256:…}) costs what its name costs. Null without a price. */
    public @Nullable Price price(String model) {
        return prices.get(ModelInfo.unpinned(model));
    }

    /** What one evaluation or check waits for room at the executor. */
    public Patience patience() {
        return new Patience(executorPatience, retryDelay);
    }
}
