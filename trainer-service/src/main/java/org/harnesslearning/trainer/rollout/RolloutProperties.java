package org.harnesslearning.trainer.rollout;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How the trainer speaks with proposer-service.
 *
 * @param poll how often it looks in Postgres whether a revision has ended
 * @param attempts tries of one order before it counts as a failure
 * @param retryDelay pause before the second try; doubled for each further one
 * @param answerTimeout longest wait for the answer to an order
 */
@ConfigurationProperties("trainer.rollout")
public record RolloutProperties(
        @DefaultValue("500ms") Duration poll,
        @DefaultValue("3") int attempts,
        @DefaultValue("2s") Duration retryDelay,
        @DefaultValue("5m") Duration answerTimeout) {
    public RolloutProperties {
        if (poll.isZero() || poll.isNegative() || retryDelay.isNegative() || attempts < 1) {
            throw new IllegalArgumentException(
                    "trainer.rollout.poll is positive, trainer.rollout.attempts at least 1, and no delay is negative");
        }
    }
}
