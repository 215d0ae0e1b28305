package org.harnesslearning.store.harness;

import java.time.Clock;
import java.util.Optional;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.store.Columns;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Sources of harnesses by content hash; a row never changes. */
public class HarnessStore {
    /** Kind of a harness that is one Python file with {@code run(question, env)}. */
    public static final String PROGRAM = "program";

    private final JdbcClient jdbc;
    private final Clock clock;

    public HarnessStore(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /** Stores a program harness, if it is not stored yet, and returns its hash. */
    public String save(String source) {
        String hash = Hashes.harness(source);
        jdbc.sql("insert into harness (hash, kind, source, created_at) values (?, ?, ?, ?) on conflict do nothing")
                .params(Columns.row(hash, PROGRAM, source, Columns.time(clock.instant())))
                .update();
        return hash;
    }

    /** Source of a harness. */
    public Optional<String> find(String hash) {
        return jdbc.sql("select source from harness where hash = ?")
                .param(hash)
                .query(String.class)
                .optional();
    }

    /** Source of a harness that must be there. */
    public String source(String hash) {
        return find(hash).orElseThrow(() -> new IllegalStateException("harness " + hash + " is not stored"));
    }
}
