package org.harnesslearning.proposer.webhook;

import com.github.kagkarlsson.scheduler.task.CompletionHandler;
import com.github.kagkarlsson.scheduler.task.Task;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import org.harnesslearning.store.seal.SecretBox;
import org.harnesslearning.store.webhook.Delivery;
import org.harnesslearning.store.webhook.Webhook;
import org.harnesslearning.store.webhook.WebhookStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * The durable job of a delivery: one try an execution, then the next one after a growing wait. A worker that dies in a
 * try makes it twice, so receivers tell deliveries apart by {@code webhook-id}. An answer of 2xx ends it well; 410 turns
 * the webhook off.
 */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(WebhookSettings.class)
class Deliveries {
    private static final Logger LOG = LoggerFactory.getLogger(Deliveries.class);
    private static final int GONE = 410;

    @Bean
    WebhookStore webhookStore(JdbcClient jdbc, Clock clock) {
        return new WebhookStore(jdbc, clock);
    }

    @Bean
    SecretBox webhookSecrets(@Value("${platform.internal-secret}") String secret) {
        return new SecretBox(secret, "webhook secrets", new SecureRandom());
    }

    @Bean
    Task<Void> webhookTask(
            WebhookStore store, Sender sender, SecretBox webhookSecrets, WebhookSettings settings, Clock clock) {
        return Tasks.custom(Outbox.TASK)
                .onDeadExecutionRevive()
                .onFailure((complete, operations) ->
                        operations.reschedule(complete, clock.instant().plus(Duration.ofMinutes(1))))
                .execute((instance, context) -> {
                    Instant next = attempt(instance.getId(), store, sender, webhookSecrets, settings, clock);
                    return next == null
                            ? new CompletionHandler.OnCompleteRemove<Void>()
                            : (complete, operations) -> operations.reschedule(complete, next);
                });
    }

    private static @org.jspecify.annotations.Nullable Instant attempt(
            String id, WebhookStore store, Sender sender, SecretBox secrets, WebhookSettings settings, Clock clock) {
        Delivery delivery = store.delivery(id).orElse(null);
        Webhook webhook =
                delivery == null ? null : store.find(delivery.webhook()).orElse(null);
        if (delivery == null || webhook == null || delivery.state() != Delivery.State.PENDING) {
            return null;
        }
        String secret = new String(secrets.open(store.secret(webhook.id())), StandardCharsets.UTF_8);
        Delivery.Attempt attempt = sender.send(webhook.url(), secret, delivery);
        Integer status = attempt.status();
        boolean delivered = status != null && status >= 200 && status < 300;
        boolean gone = status != null && status == GONE;
        Instant next =
                delivered || gone || attempt.attempt() > settings.retryDelays().size()
                        ? null
                        : clock.instant().plus(settings.retryDelays().get(attempt.attempt() - 1));
        Delivery.State state =
                delivered ? Delivery.State.DELIVERED : next == null ? Delivery.State.FAILED : Delivery.State.PENDING;
        store.tried(id, attempt, state, next);
        if (gone) {
            store.disable(webhook.id());
        }
        if (!delivered) {
            LOG.warn(
                    "delivery {} of webhook {}, try {}: {}",
                    id,
                    webhook.id(),
                    attempt.attempt(),
                    status == null ? attempt.error() : "status " + status);
        }
        return next;
    }
}
