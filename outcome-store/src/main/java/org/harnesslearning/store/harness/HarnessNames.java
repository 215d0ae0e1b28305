package org.harnesslearning.store.harness;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Clock;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Named harnesses: their versions, which of them is live, and the history of that. Callers hold the transaction. */
public class HarnessNames {
    private final JdbcClient jdbc;
    private final Clock clock;

    public HarnessNames(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /** Names in order, after {@code after}. */
    public List<HarnessName> all(String after, int limit) {
        return jdbc.sql("select * from harness_name where name > ? order by name limit ?")
                .params(Columns.row(after, limit))
                .query(HarnessNames::name)
                .list();
    }

    public Optional<HarnessName> find(String name) {
        return jdbc.sql("select * from harness_name where name = ?")
                .param(name)
                .query(HarnessNames::name)
                .optional();
    }

    /** The name, locked until the transaction ends; made where it is new. */
    public HarnessName open(String name, String caller) {
        jdbc.sql("insert into harness_name (name, created_by, created_at) values (?, ?, ?) on conflict do nothing")
                .params(Columns.row(name, caller, Columns.time(clock.instant())))
                .update();
        return lock(name).orElseThrow();
    }

    /** The name, locked until the transaction ends. */
    public Optional<HarnessName> lock(String name) {
        return jdbc.sql("select * from harness_name where name = ? for update")
                .param(name)
                .query(HarnessNames::name)
                .optional();
    }

    /** Hash of the harness that is live under a name. */
    public Optional<String> live(String name) {
        return jdbc.sql("""
                        select v.harness from harness_name n join harness_version v on v.name = n.name and v.version = n.live
                        where n.name = ?""").param(name).query(String.class).optional();
    }

    /** Versions, newest first. */
    public List<HarnessVersion> versions(String name, int limit) {
        return jdbc.sql("select * from harness_version where name = ? order by version desc limit ?")
                .params(Columns.row(name, limit))
                .query(HarnessNames::version)
                .list();
    }

    public Optional<HarnessVersion> version(String name, int version) {
        return jdbc.sql("select * from harness_version where name = ? and version = ?")
                .params(Columns.row(name, version))
                .query(HarnessNames::version)
                .optional();
    }

    /** The version that has a harness, if there is one. */
    public Optional<HarnessVersion> versionOf(String name, String harness) {
        return jdbc.sql("select * from harness_version where name = ? and harness = ?")
                .params(Columns.row(name, harness))
                .query(HarnessNames::version)
                .optional();
    }

    /** Adds a version to a locked name; its number is one above the highest. */
    public HarnessVersion add(
            String name, String harness, @Nullable String adaptation, @Nullable String note, String caller) {
        int version = jdbc.sql("""
                        insert into harness_version (name, version, harness, adaptation, note, created_by, created_at)
                        select ?, coalesce(max(version), 0) + 1, ?, ?, ?, ?, ? from harness_version where name = ?
                        returning version""")
                .params(Columns.row(
                        name, harness, adaptation, stored(note), caller, Columns.time(clock.instant()), name))
                .query(Integer.class)
                .single();
        touch(name);
        return version(name, version).orElseThrow();
    }

    /** Makes a version of a locked name live and notes it. */
    public void makeLive(
            HarnessName name,
            HarnessChange.Action action,
            int version,
            boolean forced,
            @Nullable String note,
            String caller) {
        jdbc.sql("""
                        insert into harness_change (name, id, action, version, before, forced, note, created_by, created_at)
                        select ?, coalesce(max(id), 0) + 1, ?, ?, ?, ?, ?, ?, ? from harness_change where name = ?""")
                .params(Columns.row(
                        name.name(),
                        action.json(),
                        version,
                        name.live(),
                        forced,
                        stored(note),
                        caller,
                        Columns.time(clock.instant()),
                        name.name()))
                .update();
        jdbc.sql("update harness_name set live = ? where name = ?")
                .params(Columns.row(version, name.name()))
                .update();
        touch(name.name());
    }

    /** Changes of what is live, newest first. */
    public List<HarnessChange> history(String name, int limit) {
        return jdbc.sql("select * from harness_change where name = ? order by id desc limit ?")
                .params(Columns.row(name, limit))
                .query((row, index) -> new HarnessChange(
                        row.getInt("id"),
                        HarnessChange.Action.valueOf(row.getString("action").toUpperCase(Locale.ROOT)),
                        row.getInt("version"),
                        Columns.integer(row, "before"),
                        row.getBoolean("forced"),
                        row.getString("note"),
                        row.getString("created_by"),
                        Objects.requireNonNull(Columns.instant(row, "created_at"))))
                .list();
    }

    /** Deletes a name with its versions and history; harnesses stay. False when there was none. */
    public boolean delete(String name) {
        return jdbc.sql("delete from harness_name where name = ?").param(name).update() == 1;
    }

    private void touch(String name) {
        jdbc.sql("update harness_name set changes = changes + 1 where name = ?")
                .param(name)
                .update();
    }

    private static @Nullable String stored(@Nullable String text) {
        return text == null ? null : Columns.storable(text);
    }

    private static HarnessName name(ResultSet row, int index) throws SQLException {
        return new HarnessName(
                row.getString("name"),
                Columns.integer(row, "live"),
                row.getLong("changes"),
                row.getString("created_by"),
                Objects.requireNonNull(Columns.instant(row, "created_at")));
    }

    private static HarnessVersion version(ResultSet row, int index) throws SQLException {
        return new HarnessVersion(
                row.getInt("version"),
                row.getString("harness"),
                row.getString("adaptation"),
                row.getString("note"),
                row.getString("created_by"),
                Objects.requireNonNull(Columns.instant(row, "created_at")));
    }
}
