package org.harnesslearning.store.run;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Clock;
import java.util.List;
import java.util.Optional;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Candidates of a run; each gets its reply once and its outcome once. */
public class CandidateStore {
    private final JdbcClient jdbc;
    private final Clock clock;

    public CandidateStore(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /** Adds a candidate before its reply is asked for, if it is not there yet. */
    public void open(String run, int round, int candidate, int call, @Nullable String demonstration, long seed) {
        jdbc.sql("""
                        insert into candidate (run_id, round, candidate, call, demonstration, seed)
                        values (?, ?, ?, ?, ?, ?) on conflict do nothing""")
                .params(Columns.row(run, round, candidate, call, demonstration, seed))
                .update();
    }

    /** Commits a reply. */
    public void reply(
            String run,
            int round,
            int candidate,
            String reply,
            String finishReason,
            @Nullable List<Integer> tokenIds,
            @Nullable List<Double> logprobs) {
        jdbc.sql("""
                        update candidate set reply = ?, finish_reason = ?, token_ids = ?::jsonb, logprobs = ?::jsonb
                        where run_id = ? and round = ? and candidate = ? and reply is null""")
                .params(Columns.row(
                        Columns.storable(reply),
                        finishReason,
                        Columns.json(tokenIds),
                        Columns.json(logprobs),
                        run,
                        round,
                        candidate))
                .update();
    }

    /** Stores what the reply made of the parent. */
    public void edited(
            String run,
            int round,
            int candidate,
            String harness,
            String tier,
            String diff,
            @Nullable Double similarity) {
        jdbc.sql("""
                        update candidate set harness = ?, tier = ?, diff = ?, similarity = ?
                        where run_id = ? and round = ? and candidate = ?""")
                .params(Columns.row(harness, tier, Columns.storable(diff), similarity, run, round, candidate))
                .update();
    }

    /** Gives a candidate its outcome, once; true when it had none. */
    public boolean finish(
            String run,
            int round,
            int candidate,
            CandidateOutcome outcome,
            @Nullable OutcomeCode code,
            @Nullable String message,
            @Nullable String duplicateOf,
            @Nullable CandidateScore score) {
        return jdbc.sql("""
                                update candidate set outcome = ?, code = ?, message = ?, duplicate_of = ?, score = ?::jsonb,
                                    finished_at = ?
                                where run_id = ? and round = ? and candidate = ? and outcome is null""")
                        .params(Columns.row(
                                outcome.json(),
                                code == null ? null : code.name(),
                                message == null ? null : Columns.storable(message),
                                duplicateOf,
                                Columns.json(score),
                                Columns.time(clock.instant()),
                                run,
                                round,
                                candidate))
                        .update()
                == 1;
    }

    public Optional<CandidateRow> find(String run, int round, int candidate) {
        return jdbc.sql("select * from candidate where run_id = ? and round = ? and candidate = ?")
                .params(Columns.row(run, round, candidate))
                .query(CandidateStore::row)
                .optional();
    }

    /** Candidates of one round, by index. */
    public List<CandidateRow> ofRound(String run, int round) {
        return jdbc.sql("select * from candidate where run_id = ? and round = ? order by candidate")
                .params(Columns.row(run, round))
                .query(CandidateStore::row)
                .list();
    }

    /** Candidates of all rounds, in order. */
    public List<CandidateRow> all(String run) {
        return jdbc.sql("select * from candidate where run_id = ? order by round, candidate")
                .param(run)
                .query(CandidateStore::row)
                .list();
    }

    private static CandidateRow row(ResultSet row, int index) throws SQLException {
        Integer[] tokens = Columns.read(row.getString("token_ids"), Integer[].class);
        Double[] logprobs = Columns.read(row.getString("logprobs"), Double[].class);
        String outcome = row.getString("outcome");
        String code = row.getString("code");
        double similarity = row.getDouble("similarity");
        Double nullableSimilarity = row.wasNull() ? null : similarity;
        return new CandidateRow(
                row.getInt("round"),
                row.getInt("candidate"),
                row.getInt("call"),
                row.getString("demonstration"),
                row.getLong("seed"),
                row.getString("reply"),
                row.getString("finish_reason"),
                tokens == null ? null : List.of(tokens),
                logprobs == null ? null : List.of(logprobs),
                row.getString("harness"),
                row.getString("tier"),
                row.getString("diff"),
                nullableSimilarity,
                outcome == null ? null : Json.mapper().convertValue(outcome, CandidateOutcome.class),
                code == null ? null : OutcomeCode.valueOf(code),
                row.getString("message"),
                row.getString("duplicate_of"),
                Columns.read(row.getString("score"), CandidateScore.class),
                Columns.instant(row, "finished_at"));
    }
}
