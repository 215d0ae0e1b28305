package org.harnesslearning.store.key;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.harnesslearning.store.Columns;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Keys of the public API. */
public class ApiKeyStore {
    private final JdbcClient jdbc;

    public ApiKeyStore(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    /** Adds a key. */
    public void insert(ApiKey key) {
        jdbc.sql("insert into api_key (id, name, scope, hash, created_at, revoked_at, expires_at, rate_per_second,"
                        + " rate_burst, max_body_bytes) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
                .params(Columns.row(
                        key.id(),
                        key.name(),
                        key.scope(),
                        key.hash(),
                        Columns.time(key.createdAt()),
                        Columns.time(key.revokedAt()),
                        Columns.time(key.expiresAt()),
                        key.limits().ratePerSecond(),
                        key.limits().rateBurst(),
                        key.limits().maxBodyBytes()))
                .update();
    }

    /** Adds a key unless one with its hash exists, revoked or not. */
    public void insertIfAbsent(ApiKey key) {
        jdbc.sql(
                        "insert into api_key (id, name, scope, hash, created_at) values (?, ?, ?, ?, ?) on conflict do nothing")
                .params(Columns.row(key.id(), key.name(), key.scope(), key.hash(), Columns.time(key.createdAt())))
                .update();
    }

    /** Notes the use of a key, unless its last one is noted later than {@code since}. */
    public void used(String id, Instant at, Instant since) {
        jdbc.sql("update api_key set last_used_at = ? where id = ? and (last_used_at is null or last_used_at < ?)")
                .params(Columns.row(Columns.time(at), id, Columns.time(since)))
                .update();
    }

    /** The key with this hash, if it is neither revoked nor over. */
    public Optional<ApiKey> findValid(String hash, Instant now) {
        return jdbc.sql("""
                        select * from api_key where hash = ? and revoked_at is null
                          and (expires_at is null or expires_at > ?)""")
                .params(Columns.row(hash, Columns.time(now)))
                .query(ApiKeyStore::row)
                .optional();
    }

    /** Whether the key of this id is neither revoked nor over. */
    public boolean isValid(String id, Instant now) {
        return jdbc.sql("""
                        select exists (select 1 from api_key where id = ? and revoked_at is null
                          and (expires_at is null or expires_at > ?))""")
                .params(Columns.row(id, Columns.time(now)))
                .query(Boolean.class)
                .single();
    }

    /** All keys, oldest first. */
    public List<ApiKey> all() {
        return jdbc.sql("select * from api_key order by id")
                .query(ApiKeyStore::row)
                .list();
    }

    /** Revokes a key; false when there is no such valid key. */
    public boolean revoke(String id, Instant at) {
        return jdbc.sql("update api_key set revoked_at = ? where id = ? and revoked_at is null")
                        .params(Columns.row(Columns.time(at), id))
                        .update()
                == 1;
    }

    static ApiKey row(ResultSet row, int index) throws SQLException {
        return new ApiKey(
                row.getString("id"),
                row.getString("name"),
                row.getString("scope"),
                row.getString("hash"),
                Objects.requireNonNull(Columns.instant(row, "created_at")),
                Columns.instant(row, "last_used_at"),
                Columns.instant(row, "revoked_at"),
                Columns.instant(row, "expires_at"),
                new KeyLimits(
                        row.getObject("rate_per_second", Double.class),
                        row.getObject("rate_burst", Integer.class),
                        row.getObject("max_body_bytes", Long.class)));
    }
}
