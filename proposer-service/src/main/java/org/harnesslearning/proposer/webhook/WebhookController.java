package org.harnesslearning.proposer.webhook;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Clock;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.request.Faults;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.contracts.request.JsonBody;
import org.harnesslearning.store.Ids;
import org.harnesslearning.store.seal.SecretBox;
import org.harnesslearning.store.webhook.Delivery;
import org.harnesslearning.store.webhook.Webhook;
import org.harnesslearning.store.webhook.WebhookStore;
import org.jspecify.annotations.Nullable;
import org.springframework.http.CacheControl;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.databind.JsonNode;

/** {@code /webhooks}, for callers of scope {@code admin}. */
@RestController
class WebhookController {
    private static final int MAX_URL = 2000;
    private static final int MAX_DESCRIPTION = 200;
    private static final int SECRET_BYTES = 32;

    private final WebhookStore store;
    private final Targets targets;
    private final Outbox outbox;
    private final SecretBox secrets;
    private final WebhookSettings settings;
    private final TransactionTemplate tx;
    private final Ids ids;
    private final Clock clock;
    private final SecureRandom random = new SecureRandom();

    WebhookController(
            WebhookStore store,
            Targets targets,
            Outbox outbox,
            SecretBox secrets,
            WebhookSettings settings,
            TransactionTemplate tx,
            Ids ids,
            Clock clock) {
        this.store = store;
        this.targets = targets;
        this.outbox = outbox;
        this.secrets = secrets;
        this.settings = settings;
        this.tx = tx;
        this.ids = ids;
        this.clock = clock;
    }

    @PostMapping(path = "/webhooks", consumes = MediaType.APPLICATION_JSON_VALUE)
    ResponseEntity<Object> create(@RequestBody byte[] body, Caller caller) {
        Faults faults = new Faults();
        Fields fields = Fields.of(JsonBody.object(body), faults);
        String url = fields.text("url", MAX_URL);
        if (url == null && !fields.has("url")) {
            fields.fault("url", "is missing");
        }
        String fault = url == null ? null : targets.fault(url);
        if (fault != null) {
            fields.fault("url", fault);
        }
        List<String> events = events(fields);
        String description = fields.text("description", MAX_DESCRIPTION);
        fields.end();
        faults.check();
        if (store.count() >= settings.maximum()) {
            throw new PlatformException(
                    ErrorCode.INVALID_STATE, "There are " + settings.maximum() + " webhooks already; delete one first");
        }
        byte[] bytes = new byte[SECRET_BYTES];
        random.nextBytes(bytes);
        String secret = Signature.SECRET_PREFIX + Base64.getEncoder().encodeToString(bytes);
        Webhook webhook = new Webhook(
                ids.next("whk"), Objects.requireNonNull(url), events, description, caller.key(), clock.instant(), null);
        store.insert(webhook, secrets.seal(secret.getBytes(StandardCharsets.UTF_8)));
        Map<String, Object> view = view(webhook);
        view.put("secret", secret);
        return ResponseEntity.created(URI.create("/webhooks/" + webhook.id()))
                .cacheControl(CacheControl.noStore())
                .body(view);
    }

    private static List<String> events(Fields fields) {
        JsonNode given = fields.value("events");
        if (given == null) {
            return List.of("adaptation.finished", "evaluation.finished");
        }
        Set<String> events = new LinkedHashSet<>();
        boolean known = given.isArray() && !given.isEmpty();
        for (JsonNode event : given) {
            known = known && event.isString() && Outbox.TYPES.contains(event.asString());
            events.add(event.asString(""));
        }
        if (!known) {
            fields.fault("events", "must be an array with some of " + String.join(", ", Outbox.TYPES));
        }
        return new ArrayList<>(events);
    }

    @GetMapping("/webhooks")
    Map<String, Object> list() {
        return Map.of("data", store.all().stream().map(WebhookController::view).toList());
    }

    @GetMapping("/webhooks/{id}")
    Map<String, Object> get(@PathVariable("id") String id) {
        return view(find(id));
    }

    @DeleteMapping("/webhooks/{id}")
    ResponseEntity<Void> delete(@PathVariable("id") String id) {
        if (!store.delete(id)) {
            throw unknown(id);
        }
        return ResponseEntity.noContent().build();
    }

    @PostMapping("/webhooks/{id}/ping")
    ResponseEntity<Object> ping(@PathVariable("id") String id) {
        Webhook webhook = enabled(id);
        return accepted(Objects.requireNonNull(tx.execute(status -> outbox.ping(webhook))));
    }

    @GetMapping("/webhooks/{id}/deliveries")
    Map<String, Object> deliveries(
            @PathVariable("id") String id,
            @RequestParam(name = "limit", defaultValue = "20") int limit,
            @RequestParam(name = "cursor", required = false) @Nullable String cursor) {
        if (limit < 1 || limit > 100) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "limit must be from 1 to 100");
        }
        if (cursor != null && !cursor.matches("whd_[0-9a-z]{26}")) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "cursor is not one that a list gave");
        }
        List<Delivery.Logged> found = store.deliveries(find(id).id(), cursor, limit + 1);
        List<Delivery.Logged> page = found.size() > limit ? found.subList(0, limit) : found;
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put(
                "data",
                page.stream()
                        .map(logged -> view(logged.delivery(), logged.tries()))
                        .toList());
        answer.put(
                "next_cursor", found.size() > limit ? page.getLast().delivery().id() : null);
        return answer;
    }

    @PostMapping("/webhooks/{id}/deliveries/{delivery}/redeliver")
    ResponseEntity<Object> redeliver(@PathVariable("id") String id, @PathVariable("delivery") String delivery) {
        Webhook webhook = enabled(id);
        Delivery found = store.delivery(delivery)
                .filter(row -> row.webhook().equals(webhook.id()))
                .orElseThrow(() ->
                        new PlatformException(ErrorCode.NOT_FOUND, "Webhook " + id + " has no delivery " + delivery));
        if (found.state() == Delivery.State.PENDING) {
            throw new PlatformException(ErrorCode.INVALID_STATE, "The delivery is still under way");
        }
        return accepted(Objects.requireNonNull(tx.execute(status -> outbox.again(found))));
    }

    private Webhook enabled(String id) {
        Webhook webhook = find(id);
        if (webhook.disabledAt() != null) {
            throw new PlatformException(
                    ErrorCode.INVALID_STATE, "The webhook is off: its receiver answered that it is gone");
        }
        return webhook;
    }

    private Webhook find(String id) {
        return store.find(id).orElseThrow(() -> unknown(id));
    }

    private static PlatformException unknown(String id) {
        return new PlatformException(ErrorCode.NOT_FOUND, "There is no webhook " + id);
    }

    private static ResponseEntity<Object> accepted(Delivery delivery) {
        return ResponseEntity.status(HttpStatus.ACCEPTED)
                .location(URI.create("/webhooks/" + delivery.webhook() + "/deliveries"))
                .body(view(delivery, List.of()));
    }

    private static Map<String, Object> view(Webhook webhook) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("id", webhook.id());
        view.put("url", webhook.url());
        view.put("events", webhook.events());
        view.put("description", webhook.description());
        view.put("created_by", webhook.createdBy());
        view.put("created_at", webhook.createdAt());
        view.put("disabled_at", webhook.disabledAt());
        return view;
    }

    private static Map<String, Object> view(Delivery delivery, List<Delivery.Attempt> tries) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("id", delivery.id());
        view.put("event", delivery.event());
        view.put("type", delivery.type());
        view.put("state", delivery.state());
        view.put("payload", Json.mapper().readTree(delivery.payload()));
        view.put("attempts", tries);
        view.put("next_at", delivery.nextAt());
        view.put("created_at", delivery.createdAt());
        view.put("ended_at", delivery.endedAt());
        return view;
    }
}
