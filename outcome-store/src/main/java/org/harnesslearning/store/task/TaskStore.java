package org.harnesslearning.store.task;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.ScorerRef;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.contracts.task.TaskSandbox;
import org.harnesslearning.store.Columns;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Tasks that users gave, with their items in order. */
public class TaskStore {
    private final JdbcClient jdbc;

    public TaskStore(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    /** Adds a task; the caller holds the transaction. */
    public void insert(TaskRow task, Map<Split, List<Item>> items) {
        jdbc.sql(
                        "insert into task (id, kind, name, description, scorer, sandbox, created_by, created_at) values (?, ?, ?, ?, ?::jsonb, ?::jsonb, ?, ?)")
                .params(Columns.row(
                        task.id(),
                        task.kind(),
                        task.name(),
                        Columns.storable(task.description()),
                        Columns.json(task.scorer()),
                        task.sandbox() == null ? null : Columns.json(task.sandbox()),
                        task.createdBy(),
                        Columns.time(task.createdAt())))
                .update();
        items.forEach((split, list) -> {
            for (int position = 0; position < list.size(); position++) {
                Item item = list.get(position);
                jdbc.sql("insert into task_item (task_id, split, position, hash, item) values (?, ?, ?, ?, ?::jsonb)")
                        .params(Columns.row(task.id(), split.json(), position, item.hash(), Columns.json(item)))
                        .update();
            }
        });
    }

    public Optional<TaskRow> find(String id) {
        return jdbc.sql("select * from task where id = ?")
                .param(id)
                .query(TaskStore::row)
                .optional();
    }

    /** Tasks, newest first, older than {@code before}. */
    public List<TaskRow> newest(String before, int limit) {
        return jdbc.sql("select * from task where id < ? order by id desc limit ?")
                .params(Columns.row(before, limit))
                .query(TaskStore::row)
                .list();
    }

    /** Items by split, each in order; splits without items are empty. */
    public Map<Split, List<Item>> items(String id) {
        Map<Split, List<Item>> items = new EnumMap<>(Split.class);
        for (Split split : Split.values()) {
            items.put(split, new ArrayList<>());
        }
        jdbc.sql("select split, item from task_item where task_id = ? order by split, position")
                .param(id)
                .query((ResultSet row) -> {
                    Split split = Json.mapper().convertValue(row.getString("split"), Split.class);
                    Objects.requireNonNull(items.get(split)).add(Json.read(row.getString("item"), Item.class));
                });
        return items;
    }

    private static TaskRow row(ResultSet row, int index) throws SQLException {
        String sandbox = row.getString("sandbox");
        return new TaskRow(
                row.getString("id"),
                row.getString("kind"),
                row.getString("name"),
                row.getString("description"),
                Json.read(row.getString("scorer"), ScorerRef.class),
                sandbox == null ? null : Json.read(sandbox, TaskSandbox.class),
                row.getString("created_by"),
                Objects.requireNonNull(Columns.instant(row, "created_at")));
    }
}
