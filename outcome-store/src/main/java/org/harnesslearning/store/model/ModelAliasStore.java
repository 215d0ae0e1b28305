package org.harnesslearning.store.model;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Clock;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Names of versions, and how they changed. */
public class ModelAliasStore {
    private final JdbcClient jdbc;
    private final Clock clock;

    public ModelAliasStore(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    public Optional<ModelAliasRow> find(String name) {
        return jdbc.sql("select * from model_alias where name = ?")
                .param(name)
                .query(ModelAliasStore::row)
                .optional();
    }

    /** The name, locked until the transaction ends. */
    public Optional<ModelAliasRow> lock(String name) {
        return jdbc.sql("select * from model_alias where name = ? for update")
                .param(name)
                .query(ModelAliasStore::row)
                .optional();
    }

    /** All names in order. */
    public List<ModelAliasRow> all() {
        return jdbc.sql("select * from model_alias order by name")
                .query(ModelAliasStore::row)
                .list();
    }

    /** Sets a name without history, for a training run or an evaluation; false when the name is a promoted one. */
    public boolean serve(String name, String base, String version) {
        return jdbc.sql("""
                                insert into model_alias (name, base, version_id, promoted, changed_at)
                                values (?, ?, ?, false, ?)
                                on conflict (name) do update set base = excluded.base, version_id = excluded.version_id,
                                    changed_at = excluded.changed_at
                                where not model_alias.promoted""")
                        .params(Columns.row(name, base, version, Columns.time(clock.instant())))
                        .update()
                == 1;
    }

    /** Takes away a name that is no promoted one. */
    public void withdraw(String name) {
        jdbc.sql("delete from model_alias where name = ? and not promoted")
                .param(name)
                .update();
    }

    /**
     * Takes away the names of training runs and promotions that have ended or are gone: a worker that is killed, or that
     * serves a version while its run is deleted, leaves them.
     *
     * @return the names
     */
    public List<String> sweep() {
        return jdbc.sql("""
                        delete from model_alias a where not promoted and name ~ '^(trn|prm)_[0-9a-z]{26}-'
                          and not exists (select from training_run where id = left(a.name, 30)
                            and state in ('queued', 'running', 'paused'))
                          and not exists (select from promotion where id = left(a.name, 30)
                            and state in ('queued', 'running'))
                        returning name""").query(String.class).list();
    }

    /** Sets a promoted name and writes down why; the caller holds the transaction and the lock of the name. */
    public void promote(String name, String base, AliasChange change) {
        jdbc.sql("""
                        insert into model_alias (name, base, version_id, promoted, changed_at) values (?, ?, ?, true, ?)
                        on conflict (name) do update set base = excluded.base, version_id = excluded.version_id,
                            promoted = true, changed_at = excluded.changed_at""")
                .params(Columns.row(name, base, change.version(), Columns.time(change.at())))
                .update();
        jdbc.sql("""
                        insert into model_alias_change (name, change, version_id, previous, action, forced, promotion,
                            reason, changed_by, at)
                        select ?, coalesce(max(change), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?
                        from model_alias_change where name = ?""")
                .params(Columns.row(
                        name,
                        change.version(),
                        change.previous(),
                        change.action(),
                        change.forced(),
                        change.promotion(),
                        change.reason(),
                        change.changedBy(),
                        Columns.time(change.at()),
                        name))
                .update();
    }

    /** Changes of a name, newest first. */
    public List<AliasChange> history(String name) {
        return jdbc.sql("select * from model_alias_change where name = ? order by change desc")
                .param(name)
                .query(ModelAliasStore::change)
                .list();
    }

    private static AliasChange change(ResultSet row, int index) throws SQLException {
        return new AliasChange(
                row.getInt("change"),
                row.getString("version_id"),
                row.getString("previous"),
                row.getString("action"),
                row.getBoolean("forced"),
                row.getString("promotion"),
                row.getString("reason"),
                row.getString("changed_by"),
                Objects.requireNonNull(Columns.instant(row, "at")));
    }

    private static ModelAliasRow row(ResultSet row, int index) throws SQLException {
        @Nullable String version = row.getString("version_id");
        return new ModelAliasRow(row.getString("name"), row.getString("base"), version, row.getBoolean("promoted"));
    }
}
