package org.harnesslearning.proposer.webhook;

import com.github.kagkarlsson.scheduler.SchedulerClient;
import com.github.kagkarlsson.scheduler.task.TaskDescriptor;
import java.time.Clock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.proposer.live.PromotionListener;
import org.harnesslearning.proposer.run.RunListener;
import org.harnesslearning.store.Ids;
import org.harnesslearning.store.harness.HarnessChange;
import org.harnesslearning.store.harness.HarnessVersion;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.webhook.Delivery;
import org.harnesslearning.store.webhook.Webhook;
import org.harnesslearning.store.webhook.WebhookStore;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;

/**
 * Turns what happened into deliveries, in the transaction of what happened: an event is told if and only if it was
 * committed. An event names what it is about and how that ended; it carries no questions, answers, prompts or sources.
 */
@Component
class Outbox implements RunListener, PromotionListener {
    static final TaskDescriptor<Void> TASK = TaskDescriptor.of("webhook");
    /** Types of events that can be registered for. */
    static final List<String> TYPES = List.of(
            "adaptation.finished",
            "revision.finished",
            "evaluation.finished",
            "harness.promoted",
            "harness.rolled_back");

    static final String PING = "ping";

    private final WebhookStore store;
    private final SchedulerClient scheduler;
    private final Ids ids;
    private final Clock clock;

    Outbox(WebhookStore store, SchedulerClient scheduler, Ids ids, Clock clock) {
        this.store = store;
        this.scheduler = scheduler;
        this.ids = ids;
        this.clock = clock;
    }

    @Override
    public void finished(RunRow run) {
        List<Webhook> listening = store.listening(run.kind().json() + ".finished");
        if (listening.isEmpty()) {
            return;
        }
        String self = "/" + run.kind().json() + "s/" + run.id();
        Map<String, Object> data = new LinkedHashMap<>();
        data.put("id", run.id());
        data.put("kind", run.kind());
        data.put("state", run.state());
        data.put("stop_reason", run.stopReason());
        data.put("task", run.taskName());
        data.put("labels", run.settings().path("labels"));
        data.put("recorded", run.recorded());
        data.put(
                "gate",
                run.result() == null ? "none" : run.result().path("gate").asString("none"));
        data.put(
                "harness",
                run.result() == null ? null : run.result().path("harness").asString(null));
        data.put("links", Map.of("self", self));
        tell(listening, run.kind().json() + ".finished", data, run.id());
    }

    @Override
    public void changed(String name, HarnessVersion version, HarnessChange.Action action) {
        String type = "harness." + action.json();
        Map<String, Object> data = new LinkedHashMap<>();
        data.put("name", name);
        data.put("version", version.version());
        data.put("harness", version.harness());
        data.put("adaptation", version.adaptation());
        data.put("links", Map.of("self", "/harnesses/names/" + name, "live", "/harnesses/names/" + name + "/live"));
        tell(store.listening(type), type, data, null);
    }

    /** Tells one webhook that it works. */
    Delivery ping(Webhook webhook) {
        return tell(List.of(webhook), PING, Map.of("webhook", webhook.id()), null)
                .getFirst();
    }

    /** Tells the same event again, under the same event id. */
    Delivery again(Delivery delivery) {
        return send(delivery.webhook(), delivery.event(), delivery.type(), delivery.run(), delivery.payload());
    }

    private List<Delivery> tell(List<Webhook> listening, String type, Map<String, Object> data, @Nullable String run) {
        String event = ids.next("evt");
        Map<String, Object> payload = new LinkedHashMap<>();
        payload.put("type", type);
        payload.put("timestamp", clock.instant());
        payload.put("data", data);
        String text = Json.write(payload);
        return listening.stream()
                .map(webhook -> send(webhook.id(), event, type, run, text))
                .toList();
    }

    private Delivery send(String webhook, String event, String type, @Nullable String run, String payload) {
        Delivery delivery = new Delivery(
                ids.next("whd"),
                webhook,
                event,
                type,
                run,
                payload,
                Delivery.State.PENDING,
                0,
                clock.instant(),
                clock.instant(),
                null);
        store.insert(delivery);
        scheduler.scheduleIfNotExists(TASK.instance(delivery.id()).scheduledTo(clock.instant()));
        return delivery;
    }
}
