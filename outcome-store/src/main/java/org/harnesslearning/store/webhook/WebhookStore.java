package org.harnesslearning.store.webhook;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Clock;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Webhooks, deliveries and tries. */
public class WebhookStore {
    private final JdbcClient jdbc;
    private final Clock clock;

    public WebhookStore(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /** Adds a webhook. */
    public void insert(Webhook webhook, byte[] sealedSecret) {
        jdbc.sql("""
                        insert into webhook (id, url, events, description, secret, created_by, created_at)
                        values (?, ?, ?::jsonb, ?, ?, ?, ?)""")
                .params(Columns.row(
                        webhook.id(),
                        webhook.url(),
                        Columns.json(webhook.events()),
                        webhook.description(),
                        sealedSecret,
                        webhook.createdBy(),
                        Columns.time(webhook.createdAt())))
                .update();
    }

    /** All webhooks, oldest first. */
    public List<Webhook> all() {
        return jdbc.sql("select * from webhook order by id")
                .query(WebhookStore::webhook)
                .list();
    }

    /** Number of webhooks. */
    public long count() {
        return jdbc.sql("select count(*) from webhook").query(Long.class).single();
    }

    public Optional<Webhook> find(String id) {
        return jdbc.sql("select * from webhook where id = ?")
                .param(id)
                .query(WebhookStore::webhook)
                .optional();
    }

    /** The sealed secret of a webhook that must be there. */
    public byte[] secret(String id) {
        return jdbc.sql("select secret from webhook where id = ?")
                .param(id)
                .query((row, index) -> row.getBytes(1))
                .single();
    }

    /** Webhooks that are told of a type of event. */
    public List<Webhook> listening(String type) {
        return jdbc.sql("select * from webhook where disabled_at is null and jsonb_exists(events, ?) order by id")
                .param(type)
                .query(WebhookStore::webhook)
                .list();
    }

    /** Tells a webhook nothing more. */
    public void disable(String id) {
        jdbc.sql("update webhook set disabled_at = coalesce(disabled_at, ?) where id = ?")
                .params(Columns.row(Columns.time(clock.instant()), id))
                .update();
    }

    /** Deletes a webhook with its deliveries; false when there was none. */
    public boolean delete(String id) {
        return jdbc.sql("delete from webhook where id = ?").param(id).update() == 1;
    }

    /** Adds a delivery that is due. */
    public void insert(Delivery delivery) {
        jdbc.sql("""
                        insert into webhook_delivery (id, webhook_id, event, type, run_id, payload, state, attempts, next_at,
                            created_at)
                        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""")
                .params(Columns.row(
                        delivery.id(),
                        delivery.webhook(),
                        delivery.event(),
                        delivery.type(),
                        delivery.run(),
                        delivery.payload(),
                        delivery.state().json(),
                        delivery.attempts(),
                        Columns.time(delivery.nextAt()),
                        Columns.time(delivery.createdAt())))
                .update();
    }

    public Optional<Delivery> delivery(String id) {
        return jdbc.sql("select * from webhook_delivery where id = ?")
                .param(id)
                .query(WebhookStore::delivery)
                .optional();
    }

    /**
     * Deliveries of a webhook with their tries, newest first.
     *
     * @param before only ids below this one
     */
    public List<Delivery.Logged> deliveries(String webhook, @Nullable String before, int limit) {
        return jdbc
                .sql("""
                        select * from webhook_delivery where webhook_id = ? and (?::text is null or id < ?)
                        order by id desc limit ?""")
                .params(Columns.row(webhook, before, before, limit))
                .query(WebhookStore::delivery)
                .list()
                .stream()
                .map(delivery -> new Delivery.Logged(delivery, tries(delivery.id())))
                .toList();
    }

    /** Tries of a delivery, oldest first. */
    public List<Delivery.Attempt> tries(String delivery) {
        return jdbc.sql("select * from webhook_attempt where delivery_id = ? order by attempt")
                .param(delivery)
                .query((row, index) -> new Delivery.Attempt(
                        row.getInt("attempt"),
                        Objects.requireNonNull(Columns.instant(row, "at")),
                        Columns.integer(row, "status"),
                        row.getString("error"),
                        row.getLong("ms")))
                .list();
    }

    /** Notes a try and where the delivery stands after it; nothing where the delivery was deleted meanwhile. */
    public void tried(String delivery, Delivery.Attempt attempt, Delivery.State state, @Nullable Instant nextAt) {
        int updated = jdbc.sql(
                        "update webhook_delivery set attempts = ?, state = ?, next_at = ?, ended_at = ? where id = ?")
                .params(Columns.row(
                        attempt.attempt(),
                        state.json(),
                        Columns.time(nextAt),
                        state == Delivery.State.PENDING ? null : Columns.time(clock.instant()),
                        delivery))
                .update();
        if (updated == 1) {
            jdbc.sql(
                            "insert into webhook_attempt (delivery_id, attempt, at, status, error, ms) values (?, ?, ?, ?, ?, ?)")
                    .params(Columns.row(
                            delivery,
                            attempt.attempt(),
                            Columns.time(attempt.at()),
                            attempt.status(),
                            attempt.error() == null ? null : Columns.storable(attempt.error()),
                            attempt.ms()))
                    .update();
        }
    }

    /** Deletes deliveries that ended before a time; returns how many. */
    public int deleteEnded(Instant before) {
        return jdbc.sql("delete from webhook_delivery where ended_at < ?")
                .param(Columns.time(before))
                .update();
    }

    private static Webhook webhook(ResultSet row, int index) throws SQLException {
        return new Webhook(
                row.getString("id"),
                row.getString("url"),
                Arrays.asList(Json.read(row.getString("events"), String[].class)),
                row.getString("description"),
                row.getString("created_by"),
                Objects.requireNonNull(Columns.instant(row, "created_at")),
                Columns.instant(row, "disabled_at"));
    }

    private static Delivery delivery(ResultSet row, int index) throws SQLException {
        return new Delivery(
                row.getString("id"),
                row.getString("webhook_id"),
                row.getString("event"),
                row.getString("type"),
                row.getString("run_id"),
                row.getString("payload"),
                Delivery.State.valueOf(row.getString("state").toUpperCase(Locale.ROOT)),
                row.getInt("attempts"),
                Columns.instant(row, "next_at"),
                Objects.requireNonNull(Columns.instant(row, "created_at")),
                Columns.instant(row, "ended_at"));
    }
}
