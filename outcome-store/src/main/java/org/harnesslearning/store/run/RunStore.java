package org.harnesslearning.store.run;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

/** Runs, their items and their events. Every change raises the run's version; callers hold the transaction. */
public class RunStore {
    private final JdbcClient jdbc;
    private final Clock clock;

    public RunStore(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /** Adds a run in state QUEUED with its items. */
    public void insert(RunRow run, Map<Split, List<Item>> items) {
        jdbc.sql("""
                        insert into run (id, kind, harness_kind, task_kind, task_name, state, settings, plan, seed_harness,
                            recorded, created_by, created_at, planned_calls)
                        values (?, ?, ?, ?, ?, ?, ?::jsonb, ?::jsonb, ?, ?, ?, ?, ?)""")
                .params(Columns.row(
                        run.id(),
                        run.kind().json(),
                        run.harnessKind(),
                        run.taskKind(),
                        run.taskName(),
                        run.state().json(),
                        Columns.json(run.settings()),
                        Columns.json(run.plan()),
                        run.seedHarness(),
                        run.recorded(),
                        run.createdBy(),
                        Columns.time(run.createdAt()),
                        run.plannedCalls()))
                .update();
        items.forEach((split, list) -> {
            for (int position = 0; position < list.size(); position++) {
                Item item = list.get(position);
                jdbc.sql("insert into run_item (run_id, split, position, hash, item) values (?, ?, ?, ?, ?::jsonb)")
                        .params(Columns.row(run.id(), split.json(), position, item.hash(), Columns.json(item)))
                        .update();
            }
        });
    }

    public Optional<RunRow> find(String id) {
        return jdbc.sql("select * from run where id = ?")
                .param(id)
                .query(RunStore::row)
                .optional();
    }

    /** A run that must be there. */
    public RunRow get(String id) {
        return find(id).orElseThrow(() -> new IllegalStateException("run " + id + " is not stored"));
    }

    /** The run, locked until the transaction ends. */
    public Optional<RunRow> lock(String id) {
        return jdbc.sql("select * from run where id = ? for update")
                .param(id)
                .query(RunStore::row)
                .optional();
    }

    /**
     * Runs of a kind, newest first.
     *
     * @param before only ids below this one
     */
    public List<RunRow> newest(
            RunKind kind, @Nullable RunState state, @Nullable String task, @Nullable String before, int limit) {
        return jdbc.sql("""
                        select * from run where kind = :kind and (:state::text is null or state = :state)
                          and (:task::text is null or task_name = :task) and (:before::text is null or id < :before)
                        order by id desc limit :limit""")
                .param("kind", kind.json())
                .param("state", state == null ? null : state.json())
                .param("task", task)
                .param("before", before)
                .param("limit", limit)
                .query(RunStore::row)
                .list();
    }

    /** Items by split, each in order; splits without items are empty. */
    public Map<Split, List<Item>> items(String id) {
        Map<Split, List<Item>> items = new EnumMap<>(Split.class);
        for (Split split : Split.values()) {
            items.put(split, new ArrayList<>());
        }
        jdbc.sql("select split, item from run_item where run_id = ? order by split, position")
                .param(id)
                .query((ResultSet row) -> {
                    Split split = Json.mapper().convertValue(row.getString("split"), Split.class);
                    Objects.requireNonNull(items.get(split)).add(Json.read(row.getString("item"), Item.class));
                });
        return items;
    }

    /** Changes the state. */
    public void state(String id, RunState state, @Nullable String message) {
        jdbc.sql("update run set state = ?, message = ?, wanted = null, version = version + 1 where id = ?")
                .params(Columns.row(state.json(), message, id))
                .update();
    }

    /** Notes what the user wants. */
    public void want(String id, Wanted wanted) {
        jdbc.sql("update run set wanted = ?, version = version + 1 where id = ?")
                .params(Columns.row(wanted.name().toLowerCase(Locale.ROOT), id))
                .update();
    }

    /** Notes why the rounds ended, before the run itself does. */
    public void stopReason(String id, String stopReason) {
        jdbc.sql("update run set stop_reason = ?, version = version + 1 where id = ?")
                .params(Columns.row(stopReason, id))
                .update();
    }

    /** Ends a run. */
    public void finish(
            String id,
            RunState state,
            String stopReason,
            @Nullable String message,
            @Nullable Object result,
            @Nullable String lineageHash) {
        jdbc.sql("""
                        update run set state = ?, stop_reason = ?, message = ?, result = ?::jsonb, lineage_hash = ?,
                            finished_at = ?, wanted = null, version = version + 1
                        where id = ?""")
                .params(Columns.row(
                        state.json(),
                        stopReason,
                        message,
                        Columns.json(result),
                        lineageHash,
                        Columns.time(clock.instant()),
                        id))
                .update();
    }

    /** Notes solver calls done and planned. */
    public void progress(String id, long done, long planned) {
        jdbc.sql("update run set done_calls = ?, planned_calls = ?, version = version + 1 where id = ?")
                .params(Columns.row(done, planned, id))
                .update();
    }

    /** Counts a start of a worker; returns how many there were since the last committed unit. */
    public int start(String id) {
        return jdbc.sql("update run set starts = starts + 1 where id = ? returning starts")
                .param(id)
                .query(Integer.class)
                .single();
    }

    /** Adds working time after a committed unit. */
    public void worked(String id, long ms) {
        jdbc.sql("update run set active_ms = active_ms + ?, starts = 0 where id = ?")
                .params(Columns.row(ms, id))
                .update();
    }

    /** Adds repeated calls. */
    public void repeated(String id, long calls) {
        jdbc.sql("update run set repeated = repeated + ?, version = version + 1 where id = ?")
                .params(Columns.row(calls, id))
                .update();
    }

    /** Runs of every kind that ended before a time, oldest first. */
    public List<RunRow> finishedBefore(Instant time, int limit) {
        return jdbc.sql("select * from run where finished_at < ? order by finished_at limit ?")
                .params(Columns.row(Columns.time(time), limit))
                .query(RunStore::row)
                .list();
    }

    /** Deletes a run and all that belongs to it; harnesses stay. */
    public void delete(String id) {
        jdbc.sql("delete from run where id = ?").param(id).update();
    }

    /** Appends an event; ids count up without gaps. */
    public void event(String id, String type, Object data) {
        long event = jdbc.sql(
                        "update run set last_event = last_event + 1, version = version + 1 where id = ? returning last_event")
                .param(id)
                .query(Long.class)
                .single();
        jdbc.sql("insert into run_event (run_id, id, type, data, at) values (?, ?, ?, ?::jsonb, ?)")
                .params(Columns.row(id, event, type, Columns.json(data), Columns.time(clock.instant())))
                .update();
    }

    /** Events after {@code after}, in order. */
    public List<RunEvent> events(String id, long after, int limit) {
        return jdbc.sql("select * from run_event where run_id = ? and id > ? order by id limit ?")
                .params(Columns.row(id, after, limit))
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

    private static RunRow row(ResultSet row, int index) throws SQLException {
        String wanted = row.getString("wanted");
        String result = row.getString("result");
        return new RunRow(
                row.getString("id"),
                Json.mapper().convertValue(row.getString("kind"), RunKind.class),
                row.getString("harness_kind"),
                row.getString("task_kind"),
                row.getString("task_name"),
                Json.mapper().convertValue(row.getString("state"), RunState.class),
                wanted == null ? null : Wanted.valueOf(wanted.toUpperCase(Locale.ROOT)),
                row.getString("stop_reason"),
                row.getString("message"),
                node(row.getString("settings")),
                node(row.getString("plan")),
                row.getString("seed_harness"),
                row.getBoolean("recorded"),
                result == null ? null : node(result),
                row.getString("lineage_hash"),
                row.getString("created_by"),
                Objects.requireNonNull(Columns.instant(row, "created_at")),
                Columns.instant(row, "finished_at"),
                row.getLong("active_ms"),
                row.getLong("repeated"),
                row.getLong("planned_calls"),
                row.getLong("done_calls"),
                row.getLong("version"));
    }
}
