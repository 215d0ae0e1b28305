package org.harnesslearning.store.run;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Calls of the proposer, each committed together with its replies. */
public class ProposerCallStore {
    private final JdbcClient jdbc;

    public ProposerCallStore(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    /** Adds a call before it is made, if it is not there yet. */
    public void open(
            String run,
            int round,
            int call,
            @Nullable String demonstration,
            List<Integer> candidates,
            String promptHash,
            List<ChatRequest.Message> messages,
            String model) {
        jdbc.sql("""
                        insert into proposer_call (run_id, round, call, demonstration, candidates, prompt_hash, messages, model)
                        values (?, ?, ?, ?, ?::jsonb, ?, ?::jsonb, ?) on conflict do nothing""")
                .params(Columns.row(
                        run,
                        round,
                        call,
                        demonstration,
                        Columns.json(candidates),
                        promptHash,
                        Columns.json(messages),
                        model))
                .update();
    }

    /** Notes that a call begins; returns how often it has begun now. */
    public int begin(String run, int round, int call) {
        return jdbc.sql(
                        "update proposer_call set attempts = attempts + 1 where run_id = ? and round = ? and call = ? returning attempts")
                .params(Columns.row(run, round, call))
                .query(Integer.class)
                .single();
    }

    /** Takes back a begin whose call failed without replies, so that it does not count as repeated. */
    public void failed(String run, int round, int call) {
        jdbc.sql("update proposer_call set attempts = attempts - 1 where run_id = ? and round = ? and call = ?")
                .params(Columns.row(run, round, call))
                .update();
    }

    /** Commits what came back with the replies; true when it was not committed yet. */
    public boolean commit(
            String run,
            int round,
            int call,
            @Nullable String weightsVersion,
            @Nullable List<Integer> promptTokenIds,
            Usage usage,
            Instant at) {
        return jdbc.sql("""
                                update proposer_call set weights_version = ?, prompt_token_ids = ?::jsonb, prompt_tokens = ?,
                                    completion_tokens = ?, ms = ?, committed_at = ?
                                where run_id = ? and round = ? and call = ? and committed_at is null""")
                        .params(Columns.row(
                                weightsVersion,
                                Columns.json(promptTokenIds),
                                usage.promptTokens(),
                                usage.completionTokens(),
                                usage.ms(),
                                Columns.time(at),
                                run,
                                round,
                                call))
                        .update()
                == 1;
    }

    public Optional<ProposerCallRow> find(String run, int round, int call) {
        return jdbc.sql("select * from proposer_call where run_id = ? and round = ? and call = ?")
                .params(Columns.row(run, round, call))
                .query(ProposerCallStore::row)
                .optional();
    }

    /** Use of the proposer by committed calls. */
    public Usage usage(String run) {
        return jdbc.sql("""
                        select coalesce(sum(jsonb_array_length(candidates)), 0) calls, coalesce(sum(prompt_tokens), 0) prompt,
                            coalesce(sum(completion_tokens), 0) completion, coalesce(sum(ms), 0) ms
                        from proposer_call where run_id = ? and committed_at is not null""")
                .param(run)
                .query((row, index) -> new Usage(
                        row.getLong("calls"), row.getLong("prompt"), row.getLong("completion"), row.getLong("ms")))
                .single();
    }

    private static ProposerCallRow row(ResultSet row, int index) throws SQLException {
        Integer[] tokens = Columns.read(row.getString("prompt_token_ids"), Integer[].class);
        List<Integer> candidates = List.of(Json.read(row.getString("candidates"), Integer[].class));
        Instant committed = Columns.instant(row, "committed_at");
        return new ProposerCallRow(
                row.getInt("round"),
                row.getInt("call"),
                row.getString("demonstration"),
                candidates,
                row.getInt("attempts"),
                row.getString("prompt_hash"),
                List.of(Json.read(row.getString("messages"), ChatRequest.Message[].class)),
                row.getString("model"),
                row.getString("weights_version"),
                tokens == null ? null : List.of(tokens),
                new Usage(
                        committed == null ? 0 : candidates.size(),
                        row.getLong("prompt_tokens"),
                        row.getLong("completion_tokens"),
                        row.getLong("ms")),
                committed);
    }
}
