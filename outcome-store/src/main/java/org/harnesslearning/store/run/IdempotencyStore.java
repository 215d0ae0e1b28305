package org.harnesslearning.store.run;

import java.time.Clock;
import java.util.Optional;
import org.harnesslearning.store.Columns;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Idempotency keys: which run a key of a caller made, and from which request. */
public class IdempotencyStore {
    private final JdbcClient jdbc;
    private final Clock clock;

    public IdempotencyStore(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /** A used key. */
    public record Use(String requestHash, String run) {}

    /** The use of a key, if there was one. */
    public Optional<Use> find(String owner, String key) {
        return jdbc.sql("select request_hash, run_id from idempotency where owner = ? and key = ?")
                .params(Columns.row(owner, key))
                .query((row, index) -> new Use(row.getString("request_hash"), row.getString("run_id")))
                .optional();
    }

    /** Notes a use; false when the key was used already, possibly at this very moment by another request. */
    public boolean insert(String owner, String key, String requestHash, String run) {
        return jdbc.sql("""
                                insert into idempotency (owner, key, request_hash, run_id, created_at)
                                values (?, ?, ?, ?, ?) on conflict do nothing""")
                        .params(Columns.row(owner, key, requestHash, run, Columns.time(clock.instant())))
                        .update()
                == 1;
    }
}
