package org.harnesslearning.store.training;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Clock;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.Columns;
import org.harnesslearning.store.run.RunEvent;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.run.Wanted;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.JsonNode;

/** Training runs, their events and metrics. Every change raises the run's version; callers hold the transaction. */
public class TrainingRunStore {
    private final JdbcClient jdbc;
    private final Clock clock;

    public TrainingRunStore(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /**
     * The Idempotency-Key that makes a run.
     *
     * @param owner id of the API key
     */
    public record Once(String owner, String key, String requestHash) {}

    /** Adds a run in state QUEUED; false when its key made another one already, possibly at this very moment. */
    public boolean insert(TrainingRunRow run, @Nullable Once once) {
        return jdbc.sql("""
                                insert into training_run (id, kind, name, base_model, state, settings, created_by,
                                    created_at, queued_at, planned, once_owner, once_key, request_hash)
                                values (?, ?, ?, ?, ?, ?::jsonb, ?, ?, ?, ?, ?, ?, ?)
                                on conflict (once_owner, once_key) do nothing""")
                        .params(Columns.row(
                                run.id(),
                                run.kind(),
                                run.name(),
                                run.baseModel(),
                                run.state().json(),
                                Columns.json(run.settings()),
                                run.createdBy(),
                                Columns.time(run.createdAt()),
                                Columns.time(run.createdAt()),
                                run.planned(),
                                once == null ? null : once.owner(),
                                once == null ? null : once.key(),
                                once == null ? null : once.requestHash()))
                        .update()
                == 1;
    }

    /** A run that a key made. */
    public record Made(String run, String requestHash) {}

    /** The run that a key made before. */
    public Optional<Made> made(String owner, String key) {
        return jdbc.sql("select id, request_hash from training_run where once_owner = ? and once_key = ?")
                .params(owner, key)
                .query((row, index) -> new Made(row.getString("id"), row.getString("request_hash")))
                .optional();
    }

    public Optional<TrainingRunRow> find(String id) {
        return jdbc.sql("select * from training_run where id = ?")
                .param(id)
                .query(TrainingRunStore::row)
                .optional();
    }

    /** A run that must be there. */
    public TrainingRunRow get(String id) {
        return find(id).orElseThrow(() -> new IllegalStateException("training run " + id + " is not stored"));
    }

    /** The run, locked until the transaction ends. */
    public Optional<TrainingRunRow> lock(String id) {
        return jdbc.sql("select * from training_run where id = ? for update")
                .param(id)
                .query(TrainingRunStore::row)
                .optional();
    }

    /**
     * Runs, newest first.
     *
     * @param before only ids below this one
     */
    public List<TrainingRunRow> newest(
            @Nullable RunState state, @Nullable String kind, @Nullable String before, int limit) {
        return jdbc.sql("""
                        select * from training_run where (:state::text is null or state = :state)
                          and (:kind::text is null or kind = :kind) and (:before::text is null or id < :before)
                        order by id desc limit :limit""")
                .param("state", state == null ? null : state.json())
                .param("kind", kind)
                .param("before", before)
                .param("limit", limit)
                .query(TrainingRunStore::row)
                .list();
    }

    /** Whether an earlier run waits for a worker. */
    public boolean earlierWaits(String id) {
        return jdbc.sql("select exists (select 1 from training_run where state = 'queued' and id < ?)")
                .param(id)
                .query(Boolean.class)
                .single();
    }

    /** Numbers of runs by open state. */
    public Map<RunState, Long> open() {
        Map<RunState, Long> numbers = new TreeMap<>();
        jdbc.sql(
                        "select state, count(*) as n from training_run where state in ('queued', 'running', 'paused') group by 1")
                .query((ResultSet row) -> {
                    numbers.put(state(row), row.getLong("n"));
                });
        return numbers;
    }

    /** Since when the first waiting run waits. */
    public Optional<Instant> oldestWaiting() {
        return jdbc.sql("select min(queued_at) as at from training_run where state = 'queued'")
                .query((row, index) -> Optional.ofNullable(Columns.instant(row, "at")))
                .single();
    }

    /** Changes the state. */
    public void state(String id, RunState state, @Nullable String message) {
        jdbc.sql("""
                        update training_run set state = :state, message = :message, wanted = null, version = version + 1,
                            queued_at = case when :state = 'queued' then :now else queued_at end,
                            starts = case when :state = 'queued' then 0 else starts end,
                            started_at = case when :state = 'running' then coalesce(started_at, :now) else started_at end
                        where id = :id""")
                .param("state", state.json())
                .param("message", message)
                .param("now", Columns.time(clock.instant()))
                .param("id", id)
                .update();
    }

    /** Notes a sentence about a running run; null takes it away. */
    public void message(String id, @Nullable String message) {
        jdbc.sql("update training_run set message = ?, version = version + 1 where id = ?")
                .params(Columns.row(message, id))
                .update();
    }

    /** Notes what the user wants. */
    public void want(String id, Wanted wanted) {
        jdbc.sql("update training_run set wanted = ?, version = version + 1 where id = ?")
                .params(wanted.name().toLowerCase(Locale.ROOT), id)
                .update();
    }

    /** Ends a run; the names of models that belong to it are withdrawn. */
    public void finish(
            String id, RunState state, String stopReason, @Nullable String message, @Nullable Object result) {
        jdbc.sql("""
                        update training_run set state = ?, stop_reason = ?, message = ?, result = ?::jsonb,
                            finished_at = ?, wanted = null, version = version + 1
                        where id = ?""")
                .params(Columns.row(
                        state.json(),
                        stopReason,
                        message == null ? null : Columns.storable(message),
                        Columns.json(result),
                        Columns.time(clock.instant()),
                        id))
                .update();
        withdrawNames(id);
    }

    private void withdrawNames(String id) {
        jdbc.sql("delete from model_alias where not promoted and starts_with(name, ?)")
                .param(id + "-")
                .update();
    }

    /** Counts a start of a worker; returns how many there were since the last committed step. */
    public int start(String id) {
        return jdbc.sql("update training_run set starts = starts + 1 where id = ? returning starts")
                .param(id)
                .query(Integer.class)
                .single();
    }

    /** Commits a step. */
    public void step(String id, TrainingMetric metric) {
        jdbc.sql("""
                        insert into training_metric (run_id, step, metrics, counts, ms, at)
                        values (?, ?, ?::jsonb, ?::jsonb, ?, ?)""")
                .params(Columns.row(
                        id,
                        metric.step(),
                        Columns.json(metric.metrics()),
                        Columns.json(metric.counts()),
                        metric.ms(),
                        Columns.time(metric.at())))
                .update();
        jdbc.sql("""
                        update training_run set step = ?, active_ms = active_ms + ?, starts = 0, message = null,
                            version = version + 1
                        where id = ?""").params(metric.step(), metric.ms(), id).update();
    }

    /** Goes back to a checkpoint: later steps are forgotten, they will be done again. */
    public void rewind(String id, long step, long activeMs) {
        jdbc.sql("delete from training_metric where run_id = ? and step > ?")
                .params(id, step)
                .update();
        jdbc.sql("update training_run set step = ?, active_ms = ?, version = version + 1 where id = ?")
                .params(step, activeMs, id)
                .update();
    }

    /**
     * Notes how long a run has worked, of which its steps are a part.
     *
     * @param activeMs milliseconds, from its start on
     */
    public void active(String id, long activeMs) {
        jdbc.sql("update training_run set active_ms = ?, version = version + 1 where id = ?")
                .params(activeMs, id)
                .update();
    }

    /** Steps after {@code after}, in order. */
    public List<TrainingMetric> metrics(String id, long after, int limit) {
        return jdbc.sql("select * from training_metric where run_id = ? and step > ? order by step limit ?")
                .params(id, after, limit)
                .query(TrainingRunStore::metric)
                .list();
    }

    /** The last committed step. */
    public Optional<TrainingMetric> lastMetric(String id) {
        return jdbc.sql("select * from training_metric where run_id = ? order by step desc limit 1")
                .param(id)
                .query(TrainingRunStore::metric)
                .optional();
    }

    /** Sums of all steps' counts, by name. */
    public Map<String, Long> counts(String id) {
        Map<String, Long> counts = new TreeMap<>();
        jdbc.sql("""
                        select key, sum(value::bigint) as total from training_metric, jsonb_each_text(counts)
                        where run_id = ? group by key""").param(id).query((ResultSet row) -> {
            counts.put(row.getString("key"), row.getLong("total"));
        });
        return counts;
    }

    /** Deletes a run and all that belongs to it; its versions stay in the registry. */
    public void delete(String id) {
        jdbc.sql("delete from training_run where id = ?").param(id).update();
        withdrawNames(id);
    }

    /** Appends an event; ids count up without gaps. */
    public void event(String id, String type, Object data) {
        long event = jdbc.sql("""
                        update training_run set last_event = last_event + 1, version = version + 1 where id = ?
                        returning last_event""").param(id).query(Long.class).single();
        jdbc.sql("insert into training_event (run_id, id, type, data, at) values (?, ?, ?, ?::jsonb, ?)")
                .params(Columns.row(id, event, type, Columns.json(data), Columns.time(clock.instant())))
                .update();
    }

    /** Events after {@code after}, in order. */
    public List<RunEvent> events(String id, long after, int limit) {
        return jdbc.sql("select * from training_event where run_id = ? and id > ? order by id limit ?")
                .params(id, after, limit)
                .query((row, index) -> new RunEvent(
                        row.getLong("id"),
                        row.getString("type"),
                        node(Objects.requireNonNull(row.getString("data"))),
                        Objects.requireNonNull(Columns.instant(row, "at"))))
                .list();
    }

    private static JsonNode node(String json) {
        return Json.mapper().readTree(json);
    }

    private static RunState state(ResultSet row) throws SQLException {
        return Json.mapper().convertValue(row.getString("state"), RunState.class);
    }

    private static TrainingMetric metric(ResultSet row, int index) throws SQLException {
        return new TrainingMetric(
                row.getLong("step"),
                Json.mapper().readValue(row.getString("metrics"), new TypeReference<Map<String, Double>>() {}),
                Json.mapper().readValue(row.getString("counts"), new TypeReference<Map<String, Long>>() {}),
                row.getLong("ms"),
                Objects.requireNonNull(Columns.instant(row, "at")));
    }

    private static TrainingRunRow row(ResultSet row, int index) throws SQLException {
        String wanted = row.getString("wanted");
        String result = row.getString("result");
        return new TrainingRunRow(
                row.getString("id"),
                row.getString("kind"),
                row.getString("name"),
                row.getString("base_model"),
                state(row),
                wanted == null ? null : Wanted.valueOf(wanted.toUpperCase(Locale.ROOT)),
                row.getString("stop_reason"),
                row.getString("message"),
                node(row.getString("settings")),
                result == null ? null : node(result),
                row.getString("created_by"),
                Objects.requireNonNull(Columns.instant(row, "created_at")),
                Columns.instant(row, "started_at"),
                Columns.instant(row, "finished_at"),
                row.getLong("active_ms"),
                row.getLong("step"),
                row.getLong("planned"),
                row.getLong("version"));
    }
}
