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
        jdbc.sql("insert into api_key (id, name, scope, hash, created_at, revoked_at) values (?, ?, ?, ?, ?, ?)")
                .params(Columns.row(
                        key.id(),
                        key.name(),
                        key.scope(),
                        key.hash(),
                        Columns.time(key.createdAt()),
                        Columns.time(key.revokedAt())))
                .update();
    }

    /** The key with this hash, if it is not revoked. */
    public Optional<ApiKey> findValid(String hash) {
        return jdbc.sql("select * from api_key where hash = ? and revoked_at is null")
                .param(hash)
                .query(ApiKeyStore::row)
                .optional();
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

    private static ApiKey row(ResultSet row, int index) throws SQLException {
        return new ApiKey(
                row.getString("id"),
                row.getString("name"),
                row.getString("scope"),
                row.getString("hash"),
                Objects.requireNonNull(Columns.instant(row, "created_at")),
                Columns.instant(row, "revoked_at"));
    }
}
