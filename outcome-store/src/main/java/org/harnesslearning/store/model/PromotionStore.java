package org.harnesslearning.store.model;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Clock;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Evaluations for promotion. */
public class PromotionStore {
    private final JdbcClient jdbc;
    private final Clock clock;

    public PromotionStore(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /** Adds one in state QUEUED. */
    public void insert(PromotionRow promotion) {
        jdbc.sql("""
                        insert into promotion (id, name, base, candidate, serving, state, settings, runs, created_by,
                            created_at)
                        values (?, ?, ?, ?, ?, 'queued', ?::jsonb, ?::jsonb, ?, ?)""")
                .params(Columns.row(
                        promotion.id(),
                        promotion.name(),
                        promotion.base(),
                        promotion.candidate(),
                        promotion.serving(),
                        Columns.json(promotion.settings()),
                        Columns.json(promotion.runs()),
                        promotion.createdBy(),
                        Columns.time(promotion.createdAt())))
                .update();
    }

    public Optional<PromotionRow> find(String id) {
        return jdbc.sql("select * from promotion where id = ?")
                .param(id)
                .query(PromotionStore::row)
                .optional();
    }

    /** Evaluations of a name, newest first. */
    public List<PromotionRow> newest(String name, int limit) {
        return jdbc.sql("select * from promotion where name = ? order by id desc limit ?")
                .params(name, limit)
                .query(PromotionStore::row)
                .list();
    }

    /** Notes that it runs, and which revisions it asked for. */
    public void running(String id, Object runs) {
        jdbc.sql("update promotion set state = 'running', runs = ?::jsonb, version = version + 1 where id = ?")
                .params(Columns.row(Columns.json(runs), id))
                .update();
    }

    /** Ends it. */
    public void finish(String id, PromotionRow.State state, @Nullable String message, @Nullable Object decision) {
        jdbc.sql("""
                        update promotion set state = ?, message = ?, decision = ?::jsonb, finished_at = ?,
                            version = version + 1
                        where id = ? and state in ('queued', 'running')""")
                .params(Columns.row(state.json(), message, Columns.json(decision), Columns.time(clock.instant()), id))
                .update();
    }

    private static PromotionRow row(ResultSet row, int index) throws SQLException {
        String decision = row.getString("decision");
        return new PromotionRow(
                row.getString("id"),
                row.getString("name"),
                row.getString("base"),
                row.getString("candidate"),
                row.getString("serving"),
                Json.mapper().convertValue(row.getString("state"), PromotionRow.State.class),
                row.getString("message"),
                Json.mapper().readTree(row.getString("settings")),
                Json.mapper().readTree(row.getString("runs")),
                decision == null ? null : Json.mapper().readTree(decision),
                row.getString("created_by"),
                Objects.requireNonNull(Columns.instant(row, "created_at")),
                Columns.instant(row, "finished_at"),
                row.getLong("version"));
    }
}
