package org.harnesslearning.store.sample;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Clock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Edits of teachers, by the training run that gathered them. */
public class CorpusStore {
    /** Name of the accepted edits' number among {@link #counts}. */
    public static final String ACCEPTED = "accepted";

    private final JdbcClient jdbc;
    private final Clock clock;

    public CorpusStore(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /** Adds an edit; one that is there already stays as it is. */
    public void add(String trainingRun, CorpusRow row) {
        CorpusRow.Fold fold = row.fold();
        jdbc.sql("""
                        insert into corpus_sample (training_run, position, run_id, round, candidate, family, harness, teacher,
                            demonstration, prompt_version, report_version, descriptions_version, messages, continued, reply,
                            prompt_token_ids, completion_token_ids, diff_hash, score, parent_score, noise, accepted, reason,
                            fold, created_at)
                        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::jsonb, ?, ?, ?::jsonb, ?::jsonb, ?, ?, ?, ?, ?, ?, ?, ?)
                        on conflict do nothing""")
                .params(Columns.row(
                        trainingRun,
                        row.position(),
                        row.run(),
                        row.round(),
                        row.candidate(),
                        row.family(),
                        row.harness(),
                        row.teacher(),
                        row.demonstration(),
                        row.promptVersion(),
                        row.reportVersion(),
                        row.descriptionsVersion(),
                        Columns.json(row.messages()),
                        row.continued(),
                        row.reply() == null ? null : Columns.storable(row.reply()),
                        Columns.json(row.promptTokenIds()),
                        Columns.json(row.completionTokenIds()),
                        row.diffHash(),
                        row.score(),
                        row.parentScore(),
                        row.noise(),
                        row.accepted(),
                        row.reason(),
                        fold == null ? null : fold.json(),
                        Columns.time(clock.instant())))
                .update();
    }

    /** Accepted edits of one fold, by position. */
    public List<CorpusRow> accepted(String trainingRun, CorpusRow.Fold fold) {
        return jdbc.sql("select * from corpus_sample where training_run = ? and fold = ? order by position")
                .params(Columns.row(trainingRun, fold.json()))
                .query(CorpusStore::row)
                .list();
    }

    /** All edits, by position. */
    public List<CorpusRow> all(String trainingRun) {
        return jdbc.sql("select * from corpus_sample where training_run = ? order by position")
                .param(trainingRun)
                .query(CorpusStore::row)
                .list();
    }

    /** Edits with a position above {@code after}, by position. */
    public List<CorpusRow> page(String trainingRun, long after, int limit) {
        return jdbc.sql("select * from corpus_sample where training_run = ? and position > ? order by position limit ?")
                .params(Columns.row(trainingRun, after, limit))
                .query(CorpusStore::row)
                .list();
    }

    /** Numbers of rejected edits by reason, and of accepted ones under {@link #ACCEPTED}. */
    public Map<String, Long> counts(String trainingRun) {
        Map<String, Long> counts = new LinkedHashMap<>();
        jdbc.sql("""
                        select coalesce(reason, '%s') name, count(*) number from corpus_sample
                        where training_run = ? group by 1 order by 1""".formatted(ACCEPTED)).param(trainingRun).query((ResultSet row) -> {
            counts.put(row.getString("name"), row.getLong("number"));
        });
        return counts;
    }

    private static CorpusRow row(ResultSet row, int index) throws SQLException {
        String fold = row.getString("fold");
        return new CorpusRow(
                row.getLong("position"),
                row.getString("run_id"),
                row.getInt("round"),
                row.getInt("candidate"),
                row.getString("family"),
                row.getString("harness"),
                row.getString("teacher"),
                row.getString("demonstration"),
                row.getString("prompt_version"),
                row.getString("report_version"),
                row.getString("descriptions_version"),
                list(row.getString("messages"), ChatRequest.Message[].class),
                row.getBoolean("continued"),
                row.getString("reply"),
                list(row.getString("prompt_token_ids"), Integer[].class),
                list(row.getString("completion_token_ids"), Integer[].class),
                row.getString("diff_hash"),
                number(row, "score"),
                number(row, "parent_score"),
                number(row, "noise"),
                row.getString("reason"),
                fold == null ? null : Json.mapper().convertValue(fold, CorpusRow.Fold.class));
    }

    private static <T> @Nullable List<T> list(@Nullable String json, Class<T[]> type) {
        T[] values = Columns.read(json, type);
        return values == null ? null : List.of(values);
    }

    private static @Nullable Double number(ResultSet row, String column) throws SQLException {
        double value = row.getDouble(column);
        return row.wasNull() ? null : value;
    }
}
