package org.harnesslearning.store.idempotency;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** First answers by caller and key; each is kept for a day. */
public class FirstAnswers {
    /** How long an answer is kept. */
    public static final Duration KEPT = Duration.ofDays(1);

    private final JdbcClient jdbc;

    public FirstAnswers(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    /** What a request under a key has to do. */
    public sealed interface Turn {
        /** It is the first one: it does its work, then {@link #answer} or {@link #release}. */
        record First() implements Turn {}

        /** Another request is at work. */
        record Busy() implements Turn {}

        /** The key came with another request. */
        record Mismatch() implements Turn {}

        /** The first answer, sealed. */
        record Answered(byte[] answer) implements Turn {
            @Override
            public boolean equals(@Nullable Object other) {
                return other instanceof Answered that && java.util.Arrays.equals(answer, that.answer);
            }

            @Override
            public int hashCode() {
                return java.util.Arrays.hashCode(answer);
            }
        }
    }

    /**
     * Begins a request.
     *
     * @param owner id of the API key
     * @param keyHash hash of the Idempotency-Key
     * @param lockedUntil when this request counts as lost, if it has not ended
     */
    public Turn begin(String owner, String keyHash, String requestHash, Instant now, Instant lockedUntil) {
        jdbc.sql("delete from first_answer where owner = ? and key_hash = ? and created_at < ?")
                .params(Columns.row(owner, keyHash, Columns.time(now.minus(KEPT))))
                .update();
        int inserted = jdbc.sql("""
                        insert into first_answer (owner, key_hash, request_hash, locked_until, created_at)
                        values (?, ?, ?, ?, ?) on conflict do nothing""")
                .params(Columns.row(owner, keyHash, requestHash, Columns.time(lockedUntil), Columns.time(now)))
                .update();
        if (inserted == 1) {
            return new Turn.First();
        }
        return found(owner, keyHash)
                .map(row -> turn(row, owner, keyHash, requestHash, now, lockedUntil))
                // Released meanwhile: the caller may try again.
                .orElseGet(Turn.Busy::new);
    }

    private record Row(String requestHash, byte @Nullable [] answer) {
        @Override
        public boolean equals(@Nullable Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(this);
        }
    }

    private Optional<Row> found(String owner, String keyHash) {
        return jdbc.sql("select request_hash, answer from first_answer where owner = ? and key_hash = ?")
                .params(Columns.row(owner, keyHash))
                .query((row, index) -> new Row(row.getString("request_hash"), row.getBytes("answer")))
                .optional();
    }

    private Turn turn(Row row, String owner, String keyHash, String requestHash, Instant now, Instant lockedUntil) {
        if (!row.requestHash().equals(requestHash)) {
            return new Turn.Mismatch();
        }
        byte[] answer = row.answer();
        if (answer != null) {
            return new Turn.Answered(answer);
        }
        int taken = jdbc.sql("""
                        update first_answer set locked_until = ?
                        where owner = ? and key_hash = ? and answer is null and locked_until < ?""")
                .params(Columns.row(Columns.time(lockedUntil), owner, keyHash, Columns.time(now)))
                .update();
        return taken == 1 ? new Turn.First() : new Turn.Busy();
    }

    /** Keeps the first answer. */
    public void answer(String owner, String keyHash, byte[] sealed) {
        jdbc.sql("update first_answer set answer = ? where owner = ? and key_hash = ?")
                .params(Columns.row(sealed, owner, keyHash))
                .update();
    }

    /** Forgets a request whose answer is not worth keeping, so that it may be made again. */
    public void release(String owner, String keyHash) {
        jdbc.sql("delete from first_answer where owner = ? and key_hash = ? and answer is null")
                .params(Columns.row(owner, keyHash))
                .update();
    }

    /** Deletes answers that were kept long enough; returns how many. */
    public int deleteOld(Instant now) {
        return jdbc.sql("delete from first_answer where created_at < ?")
                .param(Columns.time(now.minus(KEPT)))
                .update();
    }
}
