package org.harnesslearning.store.key;

import java.time.Instant;
import java.util.Optional;
import org.harnesslearning.store.Columns;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Sign-ins to the ops pages. */
public class SessionStore {
    private final JdbcClient jdbc;

    public SessionStore(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    /**
     * Adds a session.
     *
     * @param hash SHA-256 of the secret that the browser keeps, as {@code sha256:<hex>}
     */
    public void insert(String hash, String keyId, Instant at, Instant expiresAt) {
        jdbc.sql("insert into session (hash, key_id, created_at, last_seen_at, expires_at) values (?, ?, ?, ?, ?)")
                .params(Columns.row(hash, keyId, Columns.time(at), Columns.time(at), Columns.time(expiresAt)))
                .update();
    }

    /**
     * The key of a session that has neither ended nor been unused too long, if the key is still valid.
     *
     * @param unusedSince a session last seen before this has ended
     */
    public Optional<ApiKey> keyOf(String hash, Instant now, Instant unusedSince) {
        return jdbc.sql("""
                        select api_key.* from session join api_key on api_key.id = session.key_id
                        where session.hash = :hash and session.expires_at > :now and session.last_seen_at > :since
                          and api_key.revoked_at is null and (api_key.expires_at is null or api_key.expires_at > :now)
                        """)
                .param("hash", hash)
                .param("now", Columns.time(now))
                .param("since", Columns.time(unusedSince))
                .query(ApiKeyStore::row)
                .optional();
    }

    /** Notes the use of a session, unless its last one is noted later than {@code since}. */
    public void seen(String hash, Instant at, Instant since) {
        jdbc.sql("update session set last_seen_at = ? where hash = ? and last_seen_at < ?")
                .params(Columns.row(Columns.time(at), hash, Columns.time(since)))
                .update();
    }

    /** Ends a session; ending it again changes nothing. */
    public void delete(String hash) {
        jdbc.sql("delete from session where hash = ?").param(hash).update();
    }

    /** Forgets sessions that ended before a time. */
    public void deleteExpired(Instant before) {
        jdbc.sql("delete from session where expires_at < ?")
                .params(Columns.row(Columns.time(before)))
                .update();
    }
}
